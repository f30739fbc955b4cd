// Package install tests the bundle of operator-status, installed by a real OLM on a cluster whose pods truly run.
package install

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
	set := func(c *testcluster.Cluster, folder string) { cluster, clusterDir = c, folder }
	os.Exit(testcluster.OnRealNodes(m, set, "--olm"))
}
