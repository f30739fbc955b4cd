// Builds the cp in the image of OLM's tools on real nodes. Nothing here is imported by the operator.
module github.com/operator-status/operator-status/hack/devcluster/cp

go 1.26.0
