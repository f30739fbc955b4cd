package watch

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// source keeps the patterns of one target's objects, and tells its Subscriptions when they change.
type source struct {
	target Target
	client rest.Interface
	log    logr.Logger

	mu sync.Mutex
	contents
	subs map[*Subscription]struct{}

	// types are those that the current reading looks for, and numbers their numbers in its patterns. Patterns of contents
	// have the numbers of the reading that filled it, whose types are filledTypes.
	types, filledTypes []string
	numbers            map[string]uint8

	round  int // of the current reading
	filled int // the round that filled contents; 0 before the first
	cancel context.CancelFunc
	err    error // of the last attempt to list or watch
}

func newSource(target Target, client rest.Interface, log logr.Logger) *source {
	return &source{
		target:   target,
		client:   client,
		log:      log.WithValues("resource", target.Resource, "namespace", target.Namespace, "identity", target.Identity),
		contents: contents{objects: map[string]uint32{}},
		subs:     map[*Subscription]struct{}{},
	}
}

// ErrTooManyTypes is the error of a Subscription whose condition types, with those of the others of its Target, are more
// than MaxTypes.
var ErrTooManyTypes = fmt.Errorf("more than %d condition types", MaxTypes)

// subscribe adds a Subscription. If it asks for conditions that the current reading does not look for, another begins.
func (s *source) subscribe(sub *Subscription) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cancel == nil || !s.looksFor(sub.request.Types) {
		types := s.typesWith(sub)
		if len(types) > MaxTypes {
			return ErrTooManyTypes
		}
		s.read(types)
	}
	sub.needs = s.round
	s.subs[sub] = struct{}{}
	sub.recount(s)
	return nil
}

// looksFor reports whether the current reading looks for all of those types.
func (s *source) looksFor(types []string) bool {
	return !slices.ContainsFunc(types, func(t string) bool { _, ok := s.numbers[t]; return !ok })
}

// typesWith returns the condition types that the Subscriptions and one more ask for, sorted.
func (s *source) typesWith(more *Subscription) []string {
	out := slices.Clone(more.request.Types)
	for sub := range s.subs {
		out = append(out, sub.request.Types...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// unsubscribe removes a Subscription and tells how many are left.
func (s *source) unsubscribe(sub *Subscription) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.subs[sub]; ok {
		sub.last = new(sub.snapshot(s))
		delete(s.subs, sub)
	}
	return len(s.subs)
}

// read starts a reading that looks for those types, in place of the one before it.
func (s *source) read(types []string) {
	numbers := make(map[string]uint8, len(types))
	for i, t := range types {
		numbers[t] = uint8(i)
	}
	s.types, s.numbers = types, numbers
	if s.cancel != nil {
		s.cancel()
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	s.round++
	r := reading{source: s, round: s.round}
	reflector := cache.NewReflectorWithOptions(
		listWatch{target: s.target, client: s.client, types: numbers, failed: r.failed, worked: r.worked},
		nil, r,
		cache.ReflectorOptions{Name: "conditions of " + s.target.Resource.GroupResource().String(), Backoff: backoff()},
	)
	// What a Reflector would log of a failure, again and again, the source logs once, and its Snapshots tell.
	go reflector.RunWithContext(klog.NewContext(ctx, logr.Discard()))
}

// backoff is how a failing list or watch is tried again: often enough to see a right that was just given.
func backoff() *wait.Backoff {
	return &wait.Backoff{Duration: 500 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 6, Cap: 15 * time.Second}
}

// stop ends the reading.
func (s *source) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.round++ // what the reading still says is of no interest
	s.cancel()
}

// reading is one Reflector's store: it writes to the source for as long as it is the current one.
type reading struct {
	source *source
	round  int
}

// Add takes an object that is new.
func (r reading) Add(obj any) error { return r.Update(obj) }

// Update takes an object as it is now.
func (r reading) Update(obj any) error {
	o := obj.(*object)
	r.write(func(s *source) {
		if s.filled == s.round { // or else the numbers of its pattern are not yet those of the contents
			s.put(o)
		}
	})
	return nil
}

// Delete forgets an object.
func (r reading) Delete(obj any) error {
	o := obj.(*object)
	r.write(func(s *source) { s.remove(o.key) })
	return nil
}

// Replace takes the list of all objects, which comes in pages. A watch that was lost tells nothing of what was deleted
// meanwhile; the list does.
func (r reading) Replace(items []any, _ string) error {
	all := contents{objects: map[string]uint32{}}
	streamed := false
	for _, item := range items {
		w := item.(*whole)
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

// Resync has nothing to do: nothing here is ever out of step.
func (r reading) Resync() error { return nil }

func (r reading) failed(err error) {
	r.write(func(s *source) {
		news := s.err == nil || s.err.Error() != err.Error()
		s.err = err
		if !news {
			return
		}
		s.log.Info("Cannot read, and will try again", "error", err.Error())
		s.notify()
	})
}

func (r reading) worked() {
	r.write(func(s *source) {
		if s.err != nil {
			s.err = nil
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
	s.contents, s.filled, s.filledTypes = all, s.round, s.types
	for sub := range s.subs {
		sub.recount(s)
	}
	s.notify()
}

// notify tells all Subscriptions that something went wrong or right.
func (s *source) notify() {
	for sub := range s.subs {
		sub.request.Notify(true)
	}
}
