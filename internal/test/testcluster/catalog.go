package testcluster

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/operator-framework/operator-registry/alpha/declcfg"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/internal/test/testcatalog"
)

// ServeCatalog makes the devcluster in dir serve the file-based catalog in a folder, replacing the previous one of that
// name. It returns a CatalogSource with the catalog's address, which it creates unless it exists.
func (c *Cluster) ServeCatalog(t testing.TB, dir string, key client.ObjectKey, folder string) *olm.CatalogSource {
	t.Helper()
	if err := Devcluster(t.Context(), "catalog", "--dir="+dir, key.Name, folder); err != nil {
		t.Fatal(err)
	}
	return c.CatalogSource(t, dir, key.Name, key)
}

// CatalogSource returns a CatalogSource for the catalog that the devcluster in dir serves under name. It creates the
// CatalogSource unless it exists.
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

// Offer is OfferCatalog for packages.
func (c *Cluster) Offer(t testing.TB, key client.ObjectKey, packages ...testcatalog.Package) {
	t.Helper()
	config, err := testcatalog.Config(packages...)
	if err != nil {
		t.Fatal(err)
	}
	c.OfferCatalog(t, key, config)
}

// OfferCatalog writes a file-based catalog to the ConfigMap of a CatalogSource of the same name, or creates both.
func (c *Cluster) OfferCatalog(t testing.TB, key client.ObjectKey, config declcfg.DeclarativeConfig) {
	t.Helper()
	text, err := testcatalog.YAML(config)
	if err != nil {
		t.Fatal(err)
	}
	content := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	content.Data = map[string]string{"catalog.yaml": text}
	if err := c.Client.Update(context.Background(), content); err == nil {
		return
	} else if !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	source := &olm.CatalogSource{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	source.Spec.SourceType, source.Spec.ConfigMap = olm.SourceTypeConfigmap, content.Name
	c.Create(t, content, source)
}
