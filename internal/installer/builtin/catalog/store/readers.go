package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
	"github.com/operator-status/operator-status/internal/installer/builtin/sandbox"
	"github.com/operator-status/operator-status/internal/messages"
)

// ReaderMode is the argument that starts the manager's program as a reader process.
const ReaderMode = "read-catalogs"

const (
	// readerMemory limits the memory of one reader process, in bytes.
	readerMemory = 192 << 20

	// readersMemory limits the memory of all reader processes together, in bytes. When it is exceeded, one is ended:
	// preferably an idle one, else one of an untrusted catalog, and of several the largest. Its CatalogSource is read again
	// later.
	readersMemory = 320 << 20

	// Limits for concurrent reads: for trusted catalogs, for all others, and per namespace.
	trustedReaders, otherReaders, namespaceReaders = 4, 12, 4

	// spareAfter is how long no read of a trusted catalog has ended when a process is started for the next one. Starting a
	// process takes longer than reading most bundles.
	spareAfter = time.Second

	// idleReader is how long a process waits for the next request of its catalog. An installation reads several bundles
	// in succession.
	idleReader = 3 * time.Second
)

// readers manages the processes that read catalogs. A process reads for only one CatalogSource, since malicious content
// could have compromised it.
type readers struct {
	dir       string // of the scratch files
	limits    catalog.Limits
	answering answering

	turns *Turns

	mu         sync.Mutex
	idle       map[reader][]*idleProcess
	running    map[*sandbox.Process]consumer
	spare      *sandbox.Process // for a trusted catalog; has read nothing yet; may be nil
	next       *time.Timer      // starts the spare process
	unconfined sync.Once
}

// reader identifies the processes that are interchangeable: those of the same catalog and authority.
type reader struct {
	catalog   types.NamespacedName
	authority authority
}

// consumer is how a process that uses memory is used.
type consumer struct{ trusted, idle bool }

type idleProcess struct {
	*sandbox.Process
	expires *time.Timer
}

func newReaders(dir string, limits catalog.Limits) *readers {
	return &readers{
		dir: dir, limits: limits, answering: answering{last: map[string]time.Time{}}, turns: NewTurns(trustedReaders, otherReaders, namespaceReaders),
		idle: map[reader][]*idleProcess{}, running: map[*sandbox.Process]consumer{},
	}
}

// with waits for the catalog's turn and calls f with a process that reads for the catalog. The process is ended when
// ctx is done, or if f returns false.
func (r *readers) with(ctx context.Context, to route, f func(*sandbox.Process) (reusable bool, err error)) error {
	turn, leave, err := r.turns.Enter(ctx, to.key.Namespace, to.trusted)
	if err != nil {
		return err
	}
	defer leave()
	p, err := r.process(turn, to)
	if err != nil {
		return err
	}
	if to.trusted {
		defer r.prepare()
	}
	inTime := context.AfterFunc(turn, func() { p.KillFor(whyEnded(turn)) })
	reusable, err := f(p)
	if !inTime() || !reusable {
		r.end(p)
		return err
	}
	p.Disconnect() // its open connections would count for its next read
	r.rest(to, p)
	return err
}

// whyEnded returns the error of a read whose context has ended.
func whyEnded(ctx context.Context) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, ErrTurnOver) {
		return catalog.Errorf(v1alpha1.ReasonReadPreempted, "%w; it will be read again", cause)
	}
	return cause
}

// process returns an idle process of the route's catalog or a new one, which may be the spare if the catalog is trusted.
func (r *readers) process(ctx context.Context, to route) (*sandbox.Process, error) {
	if p := r.takeIdle(reader{to.key, to.authority}); p != nil {
		return p, nil
	}
	var p *sandbox.Process
	if to.trusted {
		p = r.takeSpare()
	}
	if p == nil {
		var err error
		if p, err = r.start(ctx, to.trusted); err != nil {
			return nil, err
		}
	}
	r.mu.Lock()
	first := len(r.running) == 0
	r.running[p] = consumer{trusted: to.trusted}
	r.mu.Unlock()
	if first {
		go r.watchMemory()
	}
	p.Use(to.connect)
	return p, nil
}

// start starts a process that has read nothing yet. Those of untrusted catalogs leave the CPU to all others.
func (r *readers) start(ctx context.Context, trusted bool) (*sandbox.Process, error) {
	p, err := sandbox.Start(sandbox.Options{
		Args: []string{ReaderMode}, Memory: readerMemory, Dir: r.dir, Scratch: 2 * r.limits.Catalog, Background: !trusted,
	})
	if err != nil {
		return nil, fmt.Errorf("starting a process to read the catalog: %w", err)
	}
	if p.Unconfined != "" {
		r.unconfined.Do(func() {
			log.FromContext(ctx).Info("Catalog readers are not confined, since the system does not support it", "reason", p.Unconfined)
		})
	}
	return p, nil
}

// prepare starts a spare process once no read of a trusted catalog has ended for spareAfter.
func (r *readers) prepare() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.next != nil {
		r.next.Stop()
	}
	r.next = time.AfterFunc(spareAfter, func() {
		spare := r.takeSpare()
		if spare == nil {
			var err error
			if spare, err = r.start(context.Background(), true); err != nil {
				return // the next read tries again and reports the error
			}
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.spare = spare // no other timer runs: this is the last one that was set
	})
}

// takeSpare returns the process that has read nothing yet, or nil.
func (r *readers) takeSpare() *sandbox.Process {
	r.mu.Lock()
	p := r.spare
	r.spare = nil
	r.mu.Unlock()
	if p != nil && p.Ended() {
		r.end(p)
		return nil
	}
	return p
}

func (r *readers) takeIdle(key reader) *sandbox.Process {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.idle[key]) > 0 {
		last := len(r.idle[key]) - 1
		p := r.idle[key][last]
		r.idle[key] = r.idle[key][:last]
		if !p.expires.Stop() {
			continue
		}
		if !p.Ended() {
			r.running[p.Process] = consumer{trusted: r.running[p.Process].trusted}
			return p.Process
		}
		go r.end(p.Process)
	}
	delete(r.idle, key)
	return nil
}

// rest keeps a process for the next request of its catalog, for at most idleReader.
func (r *readers) rest(to route, p *sandbox.Process) {
	key := reader{to.key, to.authority}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running[p] = consumer{to.trusted, true}
	waiting := &idleProcess{Process: p}
	waiting.expires = time.AfterFunc(idleReader, func() {
		r.mu.Lock()
		r.idle[key] = without(r.idle[key], waiting)
		if len(r.idle[key]) == 0 {
			delete(r.idle, key)
		}
		r.mu.Unlock()
		r.end(p)
	})
	r.idle[key] = append(r.idle[key], waiting)
}

func without(all []*idleProcess, one *idleProcess) []*idleProcess {
	var out []*idleProcess
	for _, p := range all {
		if p != one {
			out = append(out, p)
		}
	}
	return out
}

func (r *readers) end(p *sandbox.Process) {
	p.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.running, p)
}

// errTogether is the reason why a process within its own limit was ended.
var errTogether = catalog.Errorf(v1alpha1.ReasonCatalogsTooLarge,
	"reading several large catalogs at once exceeds the memory limit of %s; it will be read again",
	messages.Size(readersMemory))

// watchMemory ends a process when all processes together use too much memory. It returns when none is left.
func (r *readers) watchMemory() {
	const every = 50 * time.Millisecond
	tick := time.NewTicker(every)
	defer tick.Stop()
	for range tick.C {
		r.mu.Lock()
		var total, most int64
		var victim *sandbox.Process
		for p, uses := range r.running {
			n := p.Resident()
			total += n
			if victim == nil || cmp.Or(uses.precedes(r.running[victim]), cmp.Compare(n, most)) > 0 {
				victim, most = p, n
			}
		}
		none := len(r.running) == 0
		r.mu.Unlock()
		if none {
			return
		}
		if total > readersMemory {
			victim.KillFor(errTogether)
		}
	}
}

// precedes returns 1 if one process is ended before the other, regardless of their sizes, -1 if after, and 0 if their
// sizes decide.
func (c consumer) precedes(other consumer) int {
	rank := func(c consumer) int {
		switch {
		case c.idle:
			return 2
		case !c.trusted:
			return 1
		}
		return 0
	}
	return cmp.Compare(rank(c), rank(other))
}
