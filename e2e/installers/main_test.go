// Package installers verifies with real programs that install operators that none of them updates an operator whose custom resources do
// not allow it, on a cluster with fake nodes.
package installers

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/internal/test/testcluster"
)

var (
	cluster    *testcluster.Cluster
	kubeconfig string
)

func TestMain(m *testing.M) {
	if status := os.Getenv(envReport); status != "" {
		if err := report(metav1.ConditionStatus(status)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(testcluster.OnDevcluster(m, "default", func(c *testcluster.Cluster, folder string) {
		cluster, kubeconfig = c, filepath.Join(folder, "kubeconfig")
	}))
}
