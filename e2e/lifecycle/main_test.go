// Package lifecycle tests the built-in loops on a cluster with controllers and fake nodes, without OLM.
package lifecycle

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
	os.Exit(testcluster.OnDevcluster(m, "lifecycle", func(c *testcluster.Cluster, folder string) { cluster, clusterDir = c, folder }))
}
