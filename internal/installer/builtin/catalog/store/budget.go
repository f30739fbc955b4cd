package store

import (
	"cmp"
	"slices"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
	"github.com/operator-status/operator-status/internal/messages"
)

// Limits for catalogs that are not trusted with the cluster: the number of CatalogSources read per namespace, and the
// bytes of memory and of disk that their content may use, per namespace and in total.
const (
	namespaceCatalogs = 20
	namespaceContents = 16 << 20
	untrustedContents = 64 << 20
	namespaceStored   = 128 << 20
	untrustedStored   = 512 << 20
)

// fits returns an Error with reason TooLarge if the content of an untrusted catalog exceeds a limit for memory or disk.
func (s *Store) fits(key types.NamespacedName, read *reading, trusts func(types.NamespacedName) bool) error {
	if trusts(key) {
		return nil
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	size := read.content.Size()
	inNamespace, inAll := size, size
	storedInNamespace, storedInAll := read.stored, read.stored
	for other, e := range s.entries {
		if other == key || e.Content == nil || trusts(other) {
			continue
		}
		inAll += e.size
		storedInAll += e.reading.stored
		if other.Namespace == key.Namespace {
			inNamespace += e.size
			storedInNamespace += e.reading.stored
		}
	}
	const ofNamespace, ofAll = "of all catalogs of the namespace", "of all catalogs that are not trusted"
	for _, budget := range []struct {
		what         string
		takes, limit int64
		of           string
	}{
		{"the packages " + ofNamespace, inNamespace, namespaceContents, "memory"},
		{"the packages " + ofAll, inAll, untrustedContents, "memory"},
		{"the contents " + ofNamespace, storedInNamespace, namespaceStored, "disk space"},
		{"the contents " + ofAll, storedInAll, untrustedStored, "disk space"},
	} {
		if budget.takes > budget.limit {
			return catalog.Errorf(v1alpha1.ReasonTooLarge, "%s would take %s of %s. The limit is %s. To trust it: --trusted-catalogs of the manager",
				budget.what, messages.Size(budget.takes), budget.of, messages.Size(budget.limit))
		}
	}
	return nil
}

// oldest returns the names of the CatalogSources of a namespace that are read, at most namespaceCatalogs. It sorts ofNamespace.
func oldest(ofNamespace []olm.CatalogSource) map[string]bool {
	if len(ofNamespace) > namespaceCatalogs {
		slices.SortFunc(ofNamespace, func(a, b olm.CatalogSource) int {
			return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
		})
	}
	out := map[string]bool{}
	for i := range ofNamespace[:min(len(ofNamespace), namespaceCatalogs)] {
		out[ofNamespace[i].Name] = true
	}
	return out
}
