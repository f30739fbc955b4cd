package store

import (
	"cmp"
	"slices"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/catalog"
	"github.com/operator-status/operator-status/internal/messages"
)

// Limits for catalogs that are not trusted with the cluster: the number of CatalogSources read per namespace, and the
// bytes of memory that their content may use, per namespace and in total.
const (
	namespaceCatalogs = 20
	namespaceContents = 16 << 20
	untrustedContents = 64 << 20
)

// fits returns an Error with reason TooLarge if the content of an untrusted catalog exceeds a memory limit.
func (s *Store) fits(key types.NamespacedName, content *catalog.Content, trusts func(types.NamespacedName) bool) error {
	if trusts(key) {
		return nil
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	size := content.Size()
	inNamespace, inAll := size, size
	for other, e := range s.entries {
		if other == key || e.Content == nil || trusts(other) {
			continue
		}
		inAll += e.size
		if other.Namespace == key.Namespace {
			inNamespace += e.size
		}
	}
	switch {
	case inNamespace > namespaceContents:
		return catalog.Errorf(v1alpha1.ReasonTooLarge,
			"the packages of all catalogs of the namespace would take %s of memory. The limit is %s, unless they are trusted: --trusted-catalogs of the manager",
			messages.Size(inNamespace), messages.Size(namespaceContents))
	case inAll > untrustedContents:
		return catalog.Errorf(v1alpha1.ReasonTooLarge,
			"the packages of all catalogs that are not trusted would take %s of memory. The limit is %s. To trust it: --trusted-catalogs of the manager",
			messages.Size(inAll), messages.Size(untrustedContents))
	}
	return nil
}

// tooMany reports whether a CatalogSource is not among the namespaceCatalogs oldest of its namespace. It sorts
// ofNamespace.
func tooMany(cs *olm.CatalogSource, ofNamespace []olm.CatalogSource) bool {
	if len(ofNamespace) <= namespaceCatalogs {
		return false
	}
	slices.SortFunc(ofNamespace, func(a, b olm.CatalogSource) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	return !slices.ContainsFunc(ofNamespace[:namespaceCatalogs], func(other olm.CatalogSource) bool { return other.Name == cs.Name })
}
