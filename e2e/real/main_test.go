// Package real tests operator-status in pods that truly run, on a cluster with a kubelet and containerd.
package real

import (
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
	os.Exit(testcluster.OnRealNodes(m, func(c *testcluster.Cluster, folder string) { cluster, clusterDir = c, folder }))
}

// bin returns the path of a program that make builds.
func bin(name string) string { return filepath.Join(testcluster.Root(), "bin", name) }
