package lifecycle

import (
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/internal/test/hang"
	"github.com/operator-status/operator-status/internal/test/testcatalog"
)

// TestHangs verifies that the command line names the true cause of each operator that hangs, whose statuses the built-in loops write.
func TestHangs(t *testing.T) {
	cluster.RemoveCRDs(t)
	cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	catalog := types.NamespacedName{Namespace: global, Name: "hangs"}
	s := &hang.Stage{
		Cluster: cluster, Kubeconfig: filepath.Join(clusterDir, "kubeconfig"), Catalog: catalog,
		Offer: func(t *testing.T, packages ...testcatalog.Package) {
			t.Helper()
			cluster.Offer(t, catalog, packages...)
		},
	}
	s.Play(t)
	s.Check(t)
}
