// Package olm tests operator-status together with a real OLM, on a cluster with controllers and fake nodes.
package olm

import (
	"os"
	"testing"

	"github.com/operator-status/operator-status/internal/test/testcluster"
)

var (
	cluster    *testcluster.Cluster
	clusterDir string
)

func TestMain(m *testing.M) {
	os.Exit(testcluster.OnDevcluster(m, "default", func(c *testcluster.Cluster, folder string) { cluster, clusterDir = c, folder }, "--olm"))
}
