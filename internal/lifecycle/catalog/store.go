package catalog

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"sync"
	"time"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/operatorgroup"
)

// Store holds what the CatalogSources of the cluster offer. It is safe for concurrent use.
type Store struct {
	// global is the namespace whose catalogs every namespace can see.
	global string

	changes changes

	mu      sync.RWMutex
	entries map[types.NamespacedName]*entry
}

// entry is what is known of one CatalogSource.
type entry struct {
	Catalog

	// reading is that of Content; nil where it never was read.
	reading *reading

	// size of Content in bytes, as far as it is limited.
	size int64

	// outcome of the last try to read it; nil before the first.
	outcome *outcome
}

// outcome is what a try to read a catalog came to.
type outcome struct {
	// err is nil where the content was read.
	err *Error

	// at is when.
	at time.Time
}

// NewStore makes an empty Store. The catalogs of the global namespace are visible in every other.
func NewStore(global string) *Store {
	return &Store{global: global, entries: map[types.NamespacedName]*entry{}}
}

// Visible are the catalogs that can be used in a namespace, its own and the global ones, the preferred first: by
// priority, then its own, then by name.
func (s *Store) Visible(namespace string) []Catalog {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var out []Catalog
	for key, e := range s.entries {
		if key.Namespace == namespace || key.Namespace == s.global {
			out = append(out, e.Catalog)
		}
	}
	foreign := func(c Catalog) int {
		if c.Key.Namespace == namespace {
			return 0
		}
		return 1
	}
	slices.SortFunc(out, func(a, b Catalog) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(foreign(a), foreign(b)), cmp.Compare(a.Key.Name, b.Key.Name))
	})
	return out
}

// VisibleBy are those that the operators of an OperatorGroup may come from, in the same order. The group may be nil.
func (s *Store) VisibleBy(group *operatorsv1.OperatorGroup, namespace string) []Catalog {
	return slices.DeleteFunc(s.Visible(namespace), func(c Catalog) bool {
		return operatorgroup.ExcludesGlobal(group) && c.Key.Namespace != namespace
	})
}

// Get is one catalog, and whether there is a CatalogSource of that name.
func (s *Store) Get(key types.NamespacedName) (Catalog, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	e, ok := s.entries[key]
	if !ok {
		return Catalog{}, false
	}
	return e.Catalog, true
}

// bundleTimeout is how long reading one bundle may take.
const bundleTimeout = 2 * time.Minute

// Manifests reads a bundle. An error is an *Error: if it is Permanent the bundle has to change, otherwise reading again later may help.
func (s *Store) Manifests(ctx context.Context, catalog types.NamespacedName, b *Bundle) (*Manifests, error) {
	ctx, cancel := context.WithTimeout(ctx, bundleTimeout)
	defer cancel()
	s.mu.RLock()
	e := s.entries[catalog]
	var from *reading
	if e != nil {
		from = e.reading
	}
	s.mu.RUnlock()
	if from == nil {
		return nil, Errorf(v1alpha1.ReasonUnreachable, "bundle %s: CatalogSource %s is not there, or has not been read yet", b.Name, catalog)
	}
	manifests, err := from.manifests(ctx, b)
	if err != nil {
		return nil, AsError(err, v1alpha1.ReasonUnreachable)
	}
	return manifests, nil
}

// see makes a CatalogSource known, with its priority.
func (s *Store) see(key types.NamespacedName, priority int) {
	s.mu.Lock()
	e := s.entries[key]
	if e == nil {
		e = &entry{Catalog: Catalog{Key: key, Message: "it is being read for the first time"}}
		s.entries[key] = e
	} else if e.Priority == priority {
		s.mu.Unlock()
		return
	}
	e.Priority = priority
	s.mu.Unlock()
	s.changes.tell(key)
}

// record takes what a try to read a CatalogSource came to.
func (s *Store) record(key types.NamespacedName, r *reading, o outcome) {
	s.mu.Lock()
	e := s.entries[key]
	if e == nil {
		s.mu.Unlock()
		r.release()
		return
	}
	before, replaced := e.Catalog, e.reading
	another := r != nil && replaced != nil && r.from != replaced.from // whose objects may differ where the Content does not
	if r == replaced {
		replaced = nil
	}
	e.reading, e.outcome = r, &o
	e.Tried, e.Healthy, e.Message = true, o.err == nil, ""
	if o.err != nil {
		e.Message = o.err.Error()
	}
	switch {
	case r == nil:
		e.Content = nil // it was never read, or may not be used any more
	case r.content == e.Content:
	case reflect.DeepEqual(r.content, e.Content):
		r.content = e.Content // so that it is not there twice, and nobody has to look at it again
	default:
		e.Content = r.content
	}
	if before.Content != e.Content {
		e.size = e.Content.size()
	}
	changed := another || before.Content != e.Content || !before.Tried || before.Healthy != e.Healthy || before.Message != e.Message
	s.mu.Unlock()
	replaced.release()
	if changed {
		s.changes.tell(key)
	}
}

// forget removes a CatalogSource.
func (s *Store) forget(key types.NamespacedName) {
	s.mu.Lock()
	e := s.entries[key]
	delete(s.entries, key)
	s.mu.Unlock()
	if e != nil {
		e.reading.release()
		s.changes.tell(key)
	}
}

// state is a copy of what is known of a CatalogSource.
func (s *Store) state(key types.NamespacedName) entry {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if e := s.entries[key]; e != nil {
		return *e
	}
	return entry{}
}

// keys are those of all CatalogSources.
func (s *Store) keys() []types.NamespacedName {
	s.mu.RLock()
	defer s.mu.RUnlock()
	out := make([]types.NamespacedName, 0, len(s.entries))
	for key := range s.entries {
		out = append(out, key)
	}
	return out
}
