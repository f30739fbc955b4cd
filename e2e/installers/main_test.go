// Package installers verifies with real programs that install operators that none of them updates an operator whose custom resources do
// not allow it, on a cluster with fake nodes.
package installers

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/operator-status/operator-status/internal/test/testcluster"
)

var (
	cluster    *testcluster.Cluster
	kubeconfig string
)

func TestMain(m *testing.M) {
	os.Exit(testcluster.OnDevcluster(m, "default", func(c *testcluster.Cluster, folder string) {
		cluster, kubeconfig = c, filepath.Join(folder, "kubeconfig")
	}))
}
