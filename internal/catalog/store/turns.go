package store

import (
	"context"
	"fmt"
	"sync"
)

// Turns limits concurrency: for trusted catalogs, for all others, and per namespace. Work for a namespace delays that
// namespace first, and never a trusted catalog.
type Turns struct {
	trusted, others chan struct{}
	perNamespace    int

	mu         sync.Mutex
	namespaces map[string]chan struct{}
}

// NewTurns returns Turns with these limits.
func NewTurns(trusted, others, perNamespace int) *Turns {
	return &Turns{trusted: make(chan struct{}, trusted), others: make(chan struct{}, others), perNamespace: perNamespace, namespaces: map[string]chan struct{}{}}
}

// Enter blocks until there is a free slot or ctx is done. The caller must call leave when the work is done.
func (t *Turns) Enter(ctx context.Context, namespace string, trusted bool) (leave func(), err error) {
	slots := []chan struct{}{t.trusted}
	if !trusted {
		slots = []chan struct{}{t.namespace(namespace), t.others}
	}
	leave = func() {}
	for _, s := range slots {
		select {
		case s <- struct{}{}:
			before := leave
			leave = func() { <-s; before() }
		case <-ctx.Done():
			leave()
			return nil, fmt.Errorf("waiting until other catalogs have been read: %w", ctx.Err())
		}
	}
	return leave, nil
}

func (t *Turns) namespace(name string) chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.namespaces[name] == nil {
		t.namespaces[name] = make(chan struct{}, t.perNamespace)
	}
	return t.namespaces[name]
}
