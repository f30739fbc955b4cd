package catalog

import (
	"cmp"
	"slices"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/messages"
)

// Limits for catalogs that are not trusted with the cluster: the number of CatalogSources read per namespace, and the
// bytes of memory that their content may use, per namespace and in total.
const (
	namespaceCatalogs = 20
	namespaceContents = 16 << 20
	untrustedContents = 64 << 20
)

// bytesPerBundle estimates the memory that a Bundle or an Entry uses in addition to its strings.
const bytesPerBundle = 300

// size estimates the memory that a content uses, in bytes.
func (c *Content) size() (bytes int64) {
	if c == nil {
		return 0
	}
	counted := map[*Bundle]bool{}
	for _, p := range c.Packages {
		for _, channel := range p.Channels {
			for _, e := range channel.Entries {
				bytes += bytesPerBundle + int64(len(e.Replaces)+len(e.SkipRange))
				for _, s := range e.Skips {
					bytes += int64(len(s))
				}
				if !counted[e.Bundle] {
					counted[e.Bundle] = true
					bytes += e.Bundle.size()
				}
			}
		}
	}
	return bytes
}

func (b *Bundle) size() int64 {
	out := bytesPerBundle + len(b.Name) + len(b.Image) + len(b.Deprecation)
	for _, p := range b.Properties {
		out += len(p.Type) + len(p.Value)
	}
	return int64(out)
}

// fits returns an Error with reason TooLarge if the content of an untrusted catalog exceeds a memory limit.
func (s *Store) fits(key types.NamespacedName, content *Content, trusts func(types.NamespacedName) bool) error {
	if trusts(key) {
		return nil
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	size := content.size()
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
		return Errorf(v1alpha1.ReasonTooLarge, "the packages of all catalogs of the namespace would take %s of memory. The limit is %s, unless they are trusted: --trusted-catalogs of the manager",
			messages.Size(inNamespace), messages.Size(namespaceContents))
	case inAll > untrustedContents:
		return Errorf(v1alpha1.ReasonTooLarge, "the packages of all catalogs that are not trusted would take %s of memory. The limit is %s. To trust it: --trusted-catalogs of the manager",
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
