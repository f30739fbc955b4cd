// Builds the program of the pod sandboxes on real nodes. Nothing here is imported by the operator.
module github.com/operator-status/operator-status/hack/devcluster/pause

go 1.26.0
