package installplan

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/internal/installer/builtin/catalog/store"
	"github.com/operator-status/operator-status/internal/installer/builtin/resolve"
)

const (
	// readWait is how long a worker waits until a bundle has been read. Most are read by then; reading the others
	// continues without a worker.
	readWait = time.Second

	// Limits on plans whose bundles are being read or wait for a worker: with trusted catalogs only, all others, and
	// those of one namespace.
	trustedReadings, otherReadings, namespaceReadings = 16, 12, 4

	// unclaimed is how long a plan's bundles are kept after they have been read.
	unclaimed = time.Minute

	// inWork limits the size of the bundles that are decoded at a time, in bytes of JSON, separately for trusted and
	// other catalogs. A larger bundle is decoded alone. Decoded bundles take five to ten times as much memory.
	inWork = 2 << 20

	// resumedSize is the assumed size of a plan's stored content, which is unknown before it is decoded.
	resumedSize = inWork / 8
)

// errReading is returned while the bundles of a plan are being read. The plan is enqueued when they have been.
var errReading = errors.New("the bundles are being read")

// readings reads the bundles of plans without occupying a worker: a registry may take minutes, and a tenant's plans
// may outnumber the workers.
type readings struct {
	catalogs Catalogs
	trusts   func(types.NamespacedName) bool
	enqueue  func(plan types.NamespacedName)
	turns    *store.Turns
	work     map[bool]*semaphore.Weighted // by whether the catalogs are trusted

	mu  sync.Mutex
	all map[types.NamespacedName]*reading
}

// reading is the state of reading the bundles of one plan.
type reading struct {
	choices []resolve.Choice
	trusted bool // whether all their catalogs are trusted
	cancel  context.CancelFunc
	done    chan struct{} // closed when reading has ended
	claimed chan struct{} // closed when a worker takes the result

	// Set when reading has ended: the manifests of each choice. They are nil for the choice that err is about.
	manifests []*store.Manifests
	err       error

	left bool // no worker waits for it; guarded by readings.mu
}

func newReadings(catalogs Catalogs, trusts func(types.NamespacedName) bool, enqueue func(types.NamespacedName)) *readings {
	return &readings{
		catalogs: catalogs, trusts: trusts, enqueue: enqueue, all: map[types.NamespacedName]*reading{},
		turns: store.NewTurns(trustedReadings, otherReadings, namespaceReadings),
		work:  map[bool]*semaphore.Weighted{false: semaphore.NewWeighted(inWork), true: semaphore.NewWeighted(inWork)},
	}
}

// take returns the bundles of a plan once they have been read, or errReading. The caller must call release when it no
// longer uses them.
func (r *readings) take(ctx context.Context, plan types.NamespacedName, choices []resolve.Choice) (taken *reading, release func(), err error) {
	one := r.of(plan, choices)
	timeout := time.NewTimer(readWait)
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

// reserve blocks until that many bytes of bundles may be decoded. The caller must call release when it no longer uses
// them.
func (r *readings) reserve(ctx context.Context, trusted bool, size int64) (release func(), err error) {
	size = min(size, inWork)
	if err := r.work[trusted].Acquire(ctx, size); err != nil {
		return nil, err
	}
	return func() { r.work[trusted].Release(size) }, nil
}

// of returns the reading of the given bundles for a plan, and starts it if necessary.
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

// leave reports whether a reading has not ended. If so, the plan is enqueued when it ends.
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

// run reads the bundles of a plan when it gets a turn, and keeps them until they are claimed.
func (r *readings) run(ctx context.Context, plan types.NamespacedName, one *reading) {
	defer one.cancel()
	turn, leave, err := r.turns.Enter(ctx, plan.Namespace, one.trusted)
	if err != nil {
		return // canceled: other bundles are being read for the plan
	}
	defer leave()
	one.manifests, one.err = r.read(turn, one.choices)
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
	case <-turn.Done(): // others wait for the memory
		r.forget(plan, one)
	case <-expired.C: // the plan was deleted or no longer needs them
		r.forget(plan, one)
	}
}

// read reads the bundles, dependencies first.
func (r *readings) read(ctx context.Context, choices []resolve.Choice) ([]*store.Manifests, error) {
	out := make([]*store.Manifests, len(choices))
	for i, c := range slices.Backward(choices) {
		var err error
		if out[i], err = r.catalogs.Manifests(ctx, c.Catalog, c.Bundle); err != nil {
			return out, err
		}
	}
	return out, nil
}
