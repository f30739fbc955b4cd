package installplan

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/internal/lifecycle/catalog"
	"github.com/operator-status/operator-status/internal/lifecycle/resolve"
)

const (
	// patience is how long a worker waits until a bundle has been read. Most are read by then. Others are read on without the worker.
	patience = time.Second

	// Numbers of plans whose bundles are read at a time, or have been and wait for a worker: of trusted catalogs alone, all others, and
	// those of one namespace.
	trustedReadings, otherReadings, namespaceReadings = 16, 12, 4

	// unclaimed is how long what was read is kept for a plan.
	unclaimed = time.Minute

	// inWork limits the bytes, as JSON, of the bundles that are decoded at a time, of trusted catalogs and of others. A larger one is decoded
	// alone. Decoded it takes five to ten times as much memory.
	inWork = 2 << 20

	// resumedSize stands for the size of what was kept of a plan, which is not known before it is decoded.
	resumedSize = inWork / 8
)

// errReading reports that the bundles of a plan are being read. The plan is enqueued when they have been.
var errReading = errors.New("the bundles are being read")

// readings read the bundles of plans without a worker: a registry may take minutes, and there are fewer workers than plans that a tenant
// can have.
type readings struct {
	catalogs Catalogs
	trusts   func(types.NamespacedName) bool
	enqueue  func(plan types.NamespacedName)
	turns    *catalog.Turns
	work     map[bool]*semaphore.Weighted // by whether the catalogs are trusted

	mu  sync.Mutex
	all map[types.NamespacedName]*reading
}

// reading is that of the bundles of one plan.
type reading struct {
	choices []resolve.Choice
	trusted bool // whether all their catalogs are
	cancel  context.CancelFunc
	done    chan struct{} // closed when it has ended
	claimed chan struct{} // closed when a worker takes what was read

	// Set when it has ended: what was read of each choice. It is nil for the one that err is about.
	manifests []*catalog.Manifests
	err       error

	left bool // no worker waits for it any more; guarded by the mutex of readings
}

func newReadings(catalogs Catalogs, trusts func(types.NamespacedName) bool, enqueue func(types.NamespacedName)) *readings {
	return &readings{
		catalogs: catalogs, trusts: trusts, enqueue: enqueue, all: map[types.NamespacedName]*reading{},
		turns: catalog.NewTurns(trustedReadings, otherReadings, namespaceReadings), work: map[bool]*semaphore.Weighted{false: semaphore.NewWeighted(inWork), true: semaphore.NewWeighted(inWork)},
	}
}

// take returns the bundles of a plan once they have been read, or errReading. Call release when they are not used any more.
func (r *readings) take(ctx context.Context, plan types.NamespacedName, choices []resolve.Choice) (taken *reading, release func(), err error) {
	one := r.of(plan, choices)
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	select {
	case <-one.done:
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	case <-timeout.C:
		if r.leave(one) {
			return nil, nil, errReading
		}
	}
	var size int64
	for _, m := range one.manifests {
		if m != nil {
			size += m.Size()
		}
	}
	release, err = r.reserve(ctx, one.trusted, size)
	if err != nil {
		return nil, nil, err
	}
	r.forget(plan, one)
	close(one.claimed)
	return one, release, nil
}

// reserve waits until that many bytes of bundles can be decoded. Call release when they are not used any more.
func (r *readings) reserve(ctx context.Context, trusted bool, size int64) (release func(), err error) {
	size = min(size, inWork)
	if err := r.work[trusted].Acquire(ctx, size); err != nil {
		return nil, err
	}
	return func() { r.work[trusted].Release(size) }, nil
}

// of returns the reading of those bundles for a plan, and starts it if there is none.
func (r *readings) of(plan types.NamespacedName, choices []resolve.Choice) *reading {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.all[plan]
	if before != nil {
		if slices.EqualFunc(before.choices, choices, func(a, b resolve.Choice) bool { return a.Bundle == b.Bundle && a.Catalog == b.Catalog }) {
			return before
		}
		before.cancel()
	}
	ctx, cancel := context.WithCancel(context.Background())
	out := &reading{choices: choices, cancel: cancel, done: make(chan struct{}), claimed: make(chan struct{})}
	out.trusted = !slices.ContainsFunc(choices, func(c resolve.Choice) bool { return !r.trusts(c.Catalog) })
	r.all[plan] = out
	go r.run(ctx, plan, out)
	return out
}

// leave reports whether a reading has not ended. Then the plan is enqueued when it does.
func (r *readings) leave(one *reading) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-one.done:
		return false
	default:
		one.left = true
		return true
	}
}

func (r *readings) forget(plan types.NamespacedName, one *reading) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all[plan] == one {
		delete(r.all, plan)
	}
}

// run reads the bundles of a plan, when it is its turn, and keeps them for it.
func (r *readings) run(ctx context.Context, plan types.NamespacedName, one *reading) {
	defer one.cancel()
	leave, err := r.turns.Enter(ctx, plan.Namespace, one.trusted)
	if err != nil {
		return // other bundles are read for the plan by now
	}
	defer leave()
	one.manifests, one.err = r.read(ctx, one.choices)
	r.mu.Lock()
	left := one.left
	close(one.done)
	r.mu.Unlock()
	if left {
		r.enqueue(plan)
	}
	expired := time.NewTimer(unclaimed)
	defer expired.Stop()
	select {
	case <-one.claimed:
	case <-ctx.Done():
	case <-expired.C: // the plan was deleted, or needs it no more
		r.forget(plan, one)
	}
}

// read reads the bundles, those that others depend on first.
func (r *readings) read(ctx context.Context, choices []resolve.Choice) ([]*catalog.Manifests, error) {
	out := make([]*catalog.Manifests, len(choices))
	for i, c := range slices.Backward(choices) {
		var err error
		if out[i], err = r.catalogs.Manifests(ctx, c.Catalog, c.Bundle); err != nil {
			return out, err
		}
	}
	return out, nil
}
