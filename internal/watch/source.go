package watch

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// source keeps the patterns of the objects of one target, and notifies its Subscriptions of changes.
type source struct {
	target Target
	client rest.Interface
	log    logr.Logger
	errors *prometheus.CounterVec // by reason

	mu sync.Mutex
	contents
	subs map[*Subscription]struct{}

	// terms are those that the current reading looks for, by its plan. The patterns in contents use the numbers of the
	// reading that filled it, whose terms are filledTerms.
	terms, filledTerms []string
	plan               *plan

	round  int // number of the current reading
	filled int // number of the reading that filled contents, or 0 before the first
	cancel context.CancelFunc
	began  time.Duration // when the current reading began: see uptime
	err    error         // of the last attempt to list or watch
	failed time.Duration // when the first of the last failed attempts failed

	heard atomic.Int64 // when the API server last sent an object, a bookmark or a list, or opened a watch: see uptime
	stale bool         // whether the contents may be out of date
}

const (
	// reviewEvery is how often a source is reviewed.
	reviewEvery = 5 * time.Second

	// silentFor is how long a watch may be silent before everything is read again. The API server sends a bookmark
	// every minute.
	silentFor = 75 * time.Second

	// staleAfter is how long a watch may be silent before its contents count as out of date. A new reading is given
	// the difference to silentFor.
	staleAfter = 90 * time.Second

	// failingFor is how long reading may fail before the contents count as out of date: about one retry, so a watch
	// that is cut off and opened again does not matter.
	failingFor = 15 * time.Second
)

func newSource(target Target, client rest.Interface, log logr.Logger, errors *prometheus.CounterVec) *source {
	return &source{
		target:   target,
		client:   client,
		log:      log.WithValues("resource", target.Resource, "namespace", target.Namespace, "identity", target.Identity),
		errors:   errors,
		contents: contents{objects: map[string]uint32{}},
		subs:     map[*Subscription]struct{}{},
	}
}

// ErrTooManyTerms is the error of Subscribe if all Subscriptions to the Target together need more than MaxTerms
// terms.
var ErrTooManyTerms = fmt.Errorf("more than %d condition types and comparisons", MaxTerms)

// subscribe adds a Subscription. If the current reading lacks some of its terms, a new reading starts.
func (s *source) subscribe(sub *Subscription) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cancel == nil || !s.looksFor(sub.request.Terms) {
		terms := s.termsWith(sub)
		plan, err := newPlan(terms)
		if err != nil {
			return err
		}
		s.terms, s.plan = terms, plan
		s.read()
	}
	sub.needs = s.round
	s.subs[sub] = struct{}{}
	sub.recount(s)
	return nil
}

// looksFor reports whether the current reading looks for all of those terms.
func (s *source) looksFor(terms []string) bool {
	return !slices.ContainsFunc(terms, func(t string) bool { _, ok := s.plan.numbers[t]; return !ok })
}

// termsWith returns the terms that the Subscriptions and one more need, sorted, each once.
func (s *source) termsWith(more *Subscription) []string {
	out := slices.Clone(more.request.Terms)
	for sub := range s.subs {
		out = append(out, sub.request.Terms...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// unsubscribe removes a Subscription and returns how many are left.
func (s *source) unsubscribe(sub *Subscription) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.subs[sub]; ok {
		sub.last = new(sub.snapshot(s))
		delete(s.subs, sub)
	}
	return len(s.subs)
}

// read starts a reading by the plan, and stops the previous one.
func (s *source) read() {
	if s.cancel != nil {
		s.cancel()
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	s.round++
	s.began = uptime()
	r := reading{source: s, round: s.round}
	reflector := cache.NewReflectorWithOptions(
		listWatch{target: s.target, client: s.client, plan: s.plan, failed: r.failed, worked: r.worked, heard: s.hear},
		nil, r,
		cache.ReflectorOptions{Name: "conditions of " + s.target.Resource.GroupResource().String(), Backoff: backoff()},
	)
	// The source logs each failure once and reports it in Snapshots. A Reflector would log it again at every attempt.
	go reflector.RunWithContext(klog.NewContext(ctx, logr.Discard()))
}

var started = time.Now()

// uptime returns how long the process has been running. Unlike a time it fits into an atomic integer, and it does not
// change when the clock is set.
func uptime() time.Duration { return time.Since(started) }

// hear records that the API server has sent something.
func (s *source) hear() { s.heard.Store(int64(uptime())) }

// silence returns how long the API server has sent nothing.
func (s *source) silence(now time.Duration) time.Duration { return now - time.Duration(s.heard.Load()) }

// review reads everything again if the API server has been silent, and notifies if the contents became out of date or
// are no longer.
func (s *source) review(now time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil && min(s.silence(now), now-s.began) > silentFor {
		s.log.Info("Relisting, since the API server has sent nothing", "for", silentFor.String())
		s.read()
		s.began = now
	}
	if stale := s.isStale(now); stale != s.stale {
		s.stale = stale
		s.notify()
	}
}

func (s *source) isStale(now time.Duration) bool {
	switch {
	case s.filled == 0: // nothing that could be out of date
		return false
	case s.err != nil:
		return now-s.failed > failingFor
	default:
		return s.silence(now) > staleAfter
	}
}

// backoff returns the delays after a failed list or watch, short enough to notice soon that a permission was granted.
func backoff() *wait.Backoff {
	return &wait.Backoff{Duration: 500 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 6, Cap: 15 * time.Second}
}

// stop ends the reading.
func (s *source) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.round++ // ignores later writes of the reading
	s.cancel()
}

// reading is the store of one Reflector. It writes to the source for as long as it is the current reading.
type reading struct {
	source *source
	round  int
}

// Add stores a new object.
func (r reading) Add(obj any) error { return r.Update(obj) }

// Update stores the current state of an object.
func (r reading) Update(obj any) error {
	o := obj.(*object)
	r.write(func(s *source) {
		if s.filled == s.round { // before that, the contents may use other numbers than its pattern
			s.put(o)
		}
	})
	return nil
}

// Delete removes an object.
func (r reading) Delete(obj any) error {
	o := obj.(*object)
	r.write(func(s *source) { s.remove(o.key) })
	return nil
}

// Replace stores the complete list, which arrives in pages. It also removes objects that were deleted while no watch
// was open.
func (r reading) Replace(items []any, _ string) error {
	all := contents{objects: map[string]uint32{}}
	streamed := false
	for _, item := range items {
		w := item.(*objectBatch)
		streamed = w.streamed
		if len(all.objects) == 0 && w.objects != nil {
			all = w.contents
		} else {
			all.merge(w.contents)
		}
	}
	r.write(func(s *source) {
		if streamed {
			s.err = nil
		}
		s.replace(all)
	})
	return nil
}

// Resync does nothing: the contents cannot get out of sync.
func (r reading) Resync() error { return nil }

func (r reading) failed(err error) {
	r.source.errors.WithLabelValues(reasonOf(err)).Inc()
	r.write(func(s *source) {
		news := s.err == nil || s.err.Error() != err.Error()
		if s.err == nil {
			s.failed = uptime()
		}
		s.err = err
		if !news {
			return
		}
		s.log.Info("Failed to read, retrying", "error", err.Error())
		s.notify()
	})
}

func (r reading) worked() {
	r.write(func(s *source) {
		if s.err != nil {
			s.err = nil
			s.stale = s.isStale(uptime())
			s.notify()
		}
	})
}

func (r reading) write(change func(*source)) {
	r.source.mu.Lock()
	defer r.source.mu.Unlock()
	if r.round == r.source.round {
		change(r.source)
	}
}

func (s *source) put(o *object) {
	before, had := s.objects[o.key]
	if had && s.patterns.entries[before].pattern == o.pattern {
		return
	}
	after, isNew := s.patterns.take(o.pattern)
	s.objects[o.key] = after
	for sub := range s.subs {
		if isNew {
			sub.judge(s, after)
		}
		sub.moved(s, o.key, sub.stateIf(s, had, before), sub.stateIf(s, true, after))
	}
	if had {
		s.patterns.drop(before)
	}
}

func (s *source) remove(key string) {
	before, had := s.objects[key]
	if !had {
		return
	}
	delete(s.objects, key)
	for sub := range s.subs {
		sub.moved(s, key, sub.stateIf(s, true, before), state{})
	}
	s.patterns.drop(before)
}

func (s *source) replace(all contents) {
	s.contents, s.filled, s.filledTerms = all, s.round, s.terms
	s.stale = s.isStale(uptime())
	for sub := range s.subs {
		sub.recount(s)
	}
	s.notify()
}

// notify notifies all Subscriptions urgently: all objects were replaced, or reading failed or works again.
func (s *source) notify() {
	for sub := range s.subs {
		sub.request.Notify(true)
	}
}
