package testcluster

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ServeCatalog has the devcluster in dir serve the file-based catalog in a folder, in place of what it served under that
// name before, and returns the CatalogSource that tells where, which it makes unless it is there.
func (c *Cluster) ServeCatalog(t testing.TB, dir string, key client.ObjectKey, folder string) *olm.CatalogSource {
	t.Helper()
	if err := Devcluster(t.Context(), "catalog", "--dir="+dir, key.Name, folder); err != nil {
		t.Fatal(err)
	}
	return c.CatalogSource(t, dir, key.Name, key)
}

// CatalogSource makes one, unless it is there, of the catalog that the devcluster in dir serves under a name.
func (c *Cluster) CatalogSource(t testing.TB, dir, name string, key client.ObjectKey) *olm.CatalogSource {
	t.Helper()
	address, err := os.ReadFile(filepath.Join(dir, "catalogs", name, "address"))
	if err != nil {
		t.Fatal(err)
	}
	source := &olm.CatalogSource{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	source.Spec.SourceType, source.Spec.Address = olm.SourceTypeGrpc, strings.TrimSpace(string(address))
	if err := c.Client.Create(context.Background(), source); client.IgnoreAlreadyExists(err) != nil {
		t.Fatal(err)
	}
	return source
}
