package kube

import "sync"

// Memo keeps results that were computed from a cache, until that changes. The zero value keeps none until Forget is called first, when
// its owner has begun to watch for changes.
type Memo[K comparable, V any] struct {
	mu      sync.Mutex
	changes int
	known   map[K]V
}

// Get returns the result for a key, which compute returns if it is not known. Callers must not change it.
func (m *Memo[K, V]) Get(key K, compute func() (V, error)) (V, error) {
	m.mu.Lock()
	out, ok := m.known[key]
	before := m.changes
	m.mu.Unlock()
	if ok {
		return out, nil
	}
	out, err := compute()
	m.mu.Lock()
	defer m.mu.Unlock()
	if err == nil && m.known != nil && m.changes == before { // otherwise it may be that before the change
		m.known[key] = out
	}
	return out, err
}

// Forget forgets all results. Call it after the cache has changed.
func (m *Memo[K, V]) Forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.changes++
	m.known = map[K]V{}
}
