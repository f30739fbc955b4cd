// Builds what an image of the manager contains besides the manager, for ko and for the Dockerfile.
module github.com/operator-status/operator-status/hack/rootfs

go 1.26.0

require golang.org/x/crypto/x509roots/fallback v0.0.0-20261030153154-30a33513ff6d
