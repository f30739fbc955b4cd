package olm

import (
	"fmt"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/internal/test/hang"
	"github.com/operator-status/operator-status/internal/test/testcatalog"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// TestHangs verifies that the command line names the true cause of each operator that hangs: with OLM alone, with operator-status beside it,
// and from an archive.
func TestHangs(t *testing.T) {
	cluster.RemoveCRDs(t)
	const name = "hangs"
	catalog, folder := types.NamespacedName{Namespace: "olm", Name: name}, filepath.Join(t.TempDir(), "catalog")
	s := &hang.Stage{
		Cluster: cluster, Kubeconfig: filepath.Join(clusterDir, "kubeconfig"), Catalog: catalog, OLM: true,
		Offer: func(t *testing.T, packages ...testcatalog.Package) {
			t.Helper()
			if err := testcatalog.Write(folder, packages...); err != nil {
				t.Fatal(err)
			}
			if err := testcluster.Devcluster(t.Context(), "catalog", "--dir="+clusterDir, name, folder); err != nil {
				t.Fatal(err)
			}
			source := cluster.CatalogSource(t, clusterDir, name, catalog)
			cluster.Await(t, source, func() string {
				if state := source.Status.GRPCConnectionState; state == nil || state.LastObservedState != "READY" {
					return fmt.Sprintf("its connection is %+v", state)
				}
				return ""
			})
		},
	}
	s.Play(t)
	t.Run("OLM", s.Check)
	t.Run("OLMArchive", s.CheckArchive)
	cluster.StartManager(t)
	t.Run("BesideOLM", s.Check)
}
