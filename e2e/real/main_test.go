// Package real tests operator-status in pods that truly run, on a cluster with a kubelet and containerd.
package real

import (
	"fmt"
	"os"
	"path/filepath"
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
	os.Exit(testcluster.OnDevcluster(m, "", func(c *testcluster.Cluster, folder string) { cluster, clusterDir = c, folder }, "--nodes=real"))
}

// bin returns the path of a program that make builds.
func bin(name string) string { return filepath.Join(testcluster.Root(), "bin", name) }
