// Package store reads the catalogs of CatalogSources in child processes, and keeps their content.
package store

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
	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
	"github.com/operator-status/operator-status/internal/operatorgroup"
)

// Store holds the content of the cluster's CatalogSources. It is safe for concurrent use.
type Store struct {
	// global is the namespace whose catalogs are visible in every namespace.
	global string

	changes changes

	mu      sync.RWMutex
	entries map[types.NamespacedName]*entry
}

// entry is the state of one CatalogSource.
type entry struct {
	catalog.Catalog

	// reading is the reading in use, or nil.
	reading *reading

	// size estimates the memory that Content uses, in bytes.
	size int64

	// outcome is the result of the last attempt to read the content; nil before the first.
	outcome *outcome
}

// outcome is the result of an attempt to read a catalog.
type outcome struct {
	// err is nil if the content was read.
	err *catalog.Error

	// at is the time of the attempt.
	at time.Time
}

// NewStore returns an empty Store. The catalogs of the global namespace are visible in every namespace.
func NewStore(global string) *Store {
	return &Store{global: global, entries: map[types.NamespacedName]*entry{}}
}

// Visible returns the catalogs of a namespace and the global ones in order of preference: by priority, then those of
// the namespace, then by name.
func (s *Store) Visible(namespace string) []catalog.Catalog {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var out []catalog.Catalog
	for key, e := range s.entries {
		if key.Namespace == namespace || key.Namespace == s.global {
			out = append(out, e.Catalog)
		}
	}
	foreign := func(c catalog.Catalog) int {
		if c.Key.Namespace == namespace {
			return 0
		}
		return 1
	}
	slices.SortFunc(out, func(a, b catalog.Catalog) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(foreign(a), foreign(b)), cmp.Compare(a.Key.Name, b.Key.Name))
	})
	return out
}

// VisibleBy returns the catalogs that operators of an OperatorGroup can be installed from, in the order of Visible. The
// group may be nil.
func (s *Store) VisibleBy(group *operatorsv1.OperatorGroup, namespace string) []catalog.Catalog {
	return slices.DeleteFunc(s.Visible(namespace), func(c catalog.Catalog) bool {
		return operatorgroup.ExcludesGlobal(group) && c.Key.Namespace != namespace
	})
}

// Get returns a catalog, and whether its CatalogSource exists.
func (s *Store) Get(key types.NamespacedName) (catalog.Catalog, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	e, ok := s.entries[key]
	if !ok {
		return catalog.Catalog{}, false
	}
	return e.Catalog, true
}

// bundleTimeout limits the time to read one bundle.
const bundleTimeout = 2 * time.Minute

// Manifests reads a bundle. Every error is a *catalog.Error. If it is Permanent, the bundle or a setting has to change;
// otherwise a later attempt may succeed.
func (s *Store) Manifests(ctx context.Context, key types.NamespacedName, b *catalog.Bundle) (*Manifests, error) {
	ctx, cancel := context.WithTimeout(ctx, bundleTimeout)
	defer cancel()
	s.mu.RLock()
	e := s.entries[key]
	var from *reading
	if e != nil {
		from = e.reading
	}
	s.mu.RUnlock()
	if from == nil {
		return nil, catalog.Errorf(v1alpha1.ReasonUnreachable, "bundle %s: CatalogSource %s not found or not read yet", b.Name, key)
	}
	manifests, err := from.manifests(ctx, b)
	if err != nil {
		return nil, catalog.AsError(err, v1alpha1.ReasonUnreachable)
	}
	return manifests, nil
}

// see adds a CatalogSource, or updates its priority.
func (s *Store) see(key types.NamespacedName, priority int) {
	s.mu.Lock()
	e := s.entries[key]
	if e == nil {
		e = &entry{Catalog: catalog.Catalog{Key: key, Message: "it is being read for the first time"}}
		s.entries[key] = e
	} else if e.Priority == priority {
		s.mu.Unlock()
		return
	}
	e.Priority = priority
	s.mu.Unlock()
	s.changes.notify(key)
}

// record stores the result of an attempt to read a CatalogSource. It releases the reading that is replaced.
func (s *Store) record(key types.NamespacedName, r *reading, o outcome) {
	s.mu.Lock()
	e := s.entries[key]
	if e == nil {
		s.mu.Unlock()
		r.release()
		return
	}
	before, replaced := e.Catalog, e.reading
	another := r != nil && replaced != nil && r.from != replaced.from // the objects may differ even if Content does not
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
		e.Content = nil // it was never read, or may no longer be used
	case r.content == e.Content:
	case reflect.DeepEqual(r.content, e.Content):
		r.content = e.Content // saves memory, and the pointer shows that nothing changed
	default:
		e.Content = r.content
	}
	if before.Content != e.Content {
		e.size = e.Content.Size()
	}
	changed := another || before.Content != e.Content || !before.Tried || before.Healthy != e.Healthy || before.Message != e.Message
	s.mu.Unlock()
	replaced.release()
	if changed {
		s.changes.notify(key)
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
		s.changes.notify(key)
	}
}

// state returns a copy of the state of a CatalogSource, or the zero value.
func (s *Store) state(key types.NamespacedName) entry {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if e := s.entries[key]; e != nil {
		return *e
	}
	return entry{}
}

// keys returns the keys of all CatalogSources.
func (s *Store) keys() []types.NamespacedName {
	s.mu.RLock()
	defer s.mu.RUnlock()
	out := make([]types.NamespacedName, 0, len(s.entries))
	for key := range s.entries {
		out = append(out, key)
	}
	return out
}
