package probe

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/status/condition"
	probestatus "github.com/operator-status/operator-status/internal/status/probe"
	"github.com/operator-status/operator-status/internal/watch"
)

// Reader reads custom resources. A *watch.Engine implements it.
type Reader interface {
	Subscribe(watch.Request) (*watch.Subscription, error)
}

// reading identifies one resource that a Probe reads, in one namespace or all. Equal readings share a Subscription.
type reading struct {
	target                 watch.Target
	upgradeable, important string
	invalid                bool
}

// readings holds the Subscriptions of each Probe.
type readings struct {
	reader Reader
	notify func(probe types.NamespacedName, urgent bool)

	// ownFirst lists custom resources of a Probe's own namespace first, because the status only counts the others.
	ownFirst bool

	budget budget

	mu      sync.Mutex
	byProbe map[types.NamespacedName]map[reading]*watch.Subscription
}

// budget limits the watches of the Probes of one namespace, and of all Probes. A watch takes about 60 KiB: all of
// them fit into the manager's memory, and no namespace uses up the share of the others.
type budget struct{ namespace, all int }

var watches = budget{namespace: 1000, all: 4000}

// exceedsBudget returns a Problem with reason TooManyWatches if the budget does not allow the Probe that many watches.
func (r *readings) exceedsBudget(probe types.NamespacedName, wanted int) *condition.Problem {
	r.mu.Lock()
	defer r.mu.Unlock()
	beside, all := 0, 0
	for other, subs := range r.byProbe {
		if other == probe {
			continue
		}
		all += len(subs)
		if other.Namespace == probe.Namespace {
			beside += len(subs)
		}
	}
	const remedy = "name fewer resources, or have the OperatorGroup target fewer namespaces, or all of them, which takes one watch per resource"
	switch {
	case beside+wanted > r.budget.namespace:
		return &condition.Problem{Reason: v1alpha1.ReasonTooManyWatches, Message: fmt.Sprintf(
			"Reading the custom resources would take %d watches, but only %d of the %d for the Probes of a namespace are left: %s",
			wanted, max(r.budget.namespace-beside, 0), r.budget.namespace, remedy)}
	case all+wanted > r.budget.all:
		return &condition.Problem{Reason: v1alpha1.ReasonTooManyWatches, Message: fmt.Sprintf(
			"Reading the custom resources would take %d watches, but only %d of the %d for all Probes are left: %s",
			wanted, max(r.budget.all-all, 0), r.budget.all, remedy)}
	}
	return nil
}

// use returns how many watches all Probes have, and how many they may have.
func (r *readings) use() (used, limit int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, subs := range r.byProbe {
		used += len(subs)
	}
	return used, r.budget.all
}

// keep opens and closes Subscriptions so that a Probe has the wanted ones. It returns them, and those refused because of too
// many condition types. Existing Subscriptions remain as they are. New ones open before unwanted ones close, if both fit.
func (r *readings) keep(probe types.NamespacedName,
	wanted map[reading]probestatus.Expressions) (now map[reading]*watch.Subscription, refused map[reading]error, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	had := maps.Clone(r.byProbe[probe])
	now, refused = make(map[reading]*watch.Subscription, len(wanted)), map[reading]error{}
	for want := range wanted {
		if sub, ok := had[want]; ok {
			now[want] = sub
		}
	}
	freed := false
	for _, want := range slices.SortedFunc(maps.Keys(wanted), compareReadings) {
		if _, ok := now[want]; ok {
			continue
		}
		sub, err := r.subscribe(probe, want, wanted[want])
		if errors.Is(err, watch.ErrTooManyTerms) && !freed {
			closeAll(had, now)
			had, freed = maps.Clone(now), true
			r.byProbe[probe] = had
			sub, err = r.subscribe(probe, want, wanted[want])
		}
		switch {
		case errors.Is(err, watch.ErrTooManyTerms):
			refused[want] = err
		case err != nil:
			closeAll(now, r.byProbe[probe])
			return nil, nil, err
		default:
			now[want] = sub
		}
	}
	closeAll(had, now)
	if len(now) == 0 {
		delete(r.byProbe, probe)
	} else {
		r.byProbe[probe] = now
	}
	return now, refused, nil
}

func (r *readings) subscribe(probe types.NamespacedName, want reading, expressions probestatus.Expressions) (*watch.Subscription, error) {
	preferred := ""
	if r.ownFirst {
		preferred = probe.Namespace
	}
	return r.reader.Subscribe(watch.Request{
		Preferred: preferred,
		Target:    want.target,
		Terms:     expressions.Terms(),
		Judge:     expressions.Judge,
		Explain:   expressions.Explain,
		Listed:    v1alpha1.MaxStatusProbeResources,
		Notify:    func(urgent bool) { r.notify(probe, urgent) },
	})
}

func compareReadings(a, b reading) int {
	return cmp.Or(
		cmp.Compare(a.target.Resource.String(), b.target.Resource.String()),
		cmp.Compare(a.target.Namespace, b.target.Namespace),
		cmp.Compare(a.target.Identity.String(), b.target.Identity.String()),
		cmp.Compare(a.upgradeable, b.upgradeable),
		cmp.Compare(a.important, b.important))
}

// closeAll closes the Subscriptions that are not in others.
func closeAll(subs, others map[reading]*watch.Subscription) {
	for key, sub := range subs {
		if _, ok := others[key]; !ok {
			sub.Close()
		}
	}
}

// joined returns the targets of wanted readings that another Probe reads without an error and this one does not read
// yet.
func (r *readings) joined(probe types.NamespacedName, wanted []reading) []watch.Target {
	r.mu.Lock()
	defer r.mu.Unlock()
	had := r.byProbe[probe]
	added := slices.DeleteFunc(slices.Clone(wanted), func(w reading) bool { _, ok := had[w]; return ok })
	if len(added) == 0 {
		return nil // the common case
	}
	own := map[watch.Target]bool{}
	for reading := range had {
		own[reading.target] = true
	}
	var out []watch.Target
	for _, a := range added {
		if !own[a.target] && r.open(a.target) {
			out = append(out, a.target)
		}
	}
	return out
}

// open reports whether a target is read without an error.
func (r *readings) open(target watch.Target) bool {
	for _, subs := range r.byProbe {
		for reading, sub := range subs {
			if reading.target == target {
				return sub.Snapshot().Err == nil // all Subscriptions of a target share its error
			}
		}
	}
	return false
}

// has reports whether a Probe reads that target without an error.
func (r *readings) has(probe types.NamespacedName, target watch.Target) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, sub := range r.byProbe[probe] {
		if key.target == target {
			return sub.Snapshot().Err == nil
		}
	}
	return false
}
