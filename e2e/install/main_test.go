// Package install tests what users install: the bundle of operator-status by a real OLM, on a cluster whose pods truly run.
package install

import (
	"fmt"
	"os"
	"testing"

	"github.com/operator-status/operator-status/internal/test/testcluster"
)

var (
	cluster    *testcluster.Cluster
	clusterDir string
)

func TestMain(m *testing.M) {
	if os.Getenv("E2E_NODES") != "real" {
		fmt.Println("skipped: E2E_NODES=real runs this suite, on nodes that need root, containerd and runc")
		os.Exit(0)
	}
	set := func(c *testcluster.Cluster, folder string) { cluster, clusterDir = c, folder }
	os.Exit(testcluster.OnDevcluster(m, "", set, "--nodes=real", "--olm"))
}
