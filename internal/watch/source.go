package watch

import (
	"context"
	"maps"
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

	// types that any Subscription asks for, by their number in a pattern. They only grow. A reading knows the types
	// there were when it began: the more of them, the later its round.
	types   []string
	numbers map[string]uint16
	round   int // of the current reading
	filled  int // the round that filled objects; 0 before the first
	cancel  context.CancelFunc
	err     error // of the last attempt to list or watch
}

func newSource(target Target, client rest.Interface, log logr.Logger) *source {
	return &source{
		target:   target,
		client:   client,
		log:      log.WithValues("resource", target.Resource, "namespace", target.Namespace, "identity", target.Identity),
		contents: contents{objects: map[string]uint32{}},
		subs:     map[*Subscription]struct{}{},
		numbers:  map[string]uint16{},
	}
}

// subscribe adds a Subscription. Where it asks for conditions that were not looked for so far, all is read again.
func (s *source) subscribe(sub *Subscription) {
	s.mu.Lock()
	defer s.mu.Unlock()
	grown := s.cancel == nil
	for _, t := range sub.request.Types {
		if _, ok := s.numbers[t]; !ok && len(s.types) <= maxTypes {
			s.numbers[t] = uint16(len(s.types))
			s.types = append(s.types, t)
			grown = true
		}
	}
	if grown {
		s.read()
	}
	sub.needs = s.round
	s.subs[sub] = struct{}{}
	sub.recount(s)
}

// maxTypes is the highest number that a pattern can hold. The length of an expression keeps far below it.
const maxTypes = 1<<16 - 1

// unsubscribe removes a Subscription and tells how many are left.
func (s *source) unsubscribe(sub *Subscription) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.subs, sub)
	return len(s.subs)
}

// read starts a reading with the types there are now, in place of the one before it.
func (s *source) read() {
	if s.cancel != nil {
		s.cancel()
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	s.round++
	r := reading{source: s, round: s.round}
	reflector := cache.NewReflectorWithOptions(
		listWatch{target: s.target, client: s.client, types: maps.Clone(s.numbers), failed: r.failed, worked: r.worked},
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
	r.write(func(s *source) { s.put(o) })
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
		sub.moved(o.key, sub.verdictIf(had, before), sub.verdictIf(true, after))
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
		sub.moved(key, sub.verdictIf(true, before), nil)
	}
	s.patterns.drop(before)
}

func (s *source) replace(all contents) {
	s.contents, s.filled = all, s.round
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
