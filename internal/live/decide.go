package live

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/gate"
)

const (
	// DecisionLasts is how long after a decision the updates that it allows may begin. The request that begins them is not repeated after
	// that, not even if the API server asks to retry it.
	DecisionLasts = 2 * time.Second

	// decidingIsQuick is how long a decision may take to count from its beginning. An answer that is received late may be outdated:
	// the process was frozen, or the network was slow.
	decidingIsQuick = time.Second
)

// Update is an update that begins unless it is held.
type Update struct {
	gate.Inputs

	// CSV is the ClusterServiceVersion that runs. It has only a name if it was uninstalled, and is nil for a first install.
	CSV *v1alpha1.ClusterServiceVersion

	// Account reads the custom resources of an uninstalled operator, which has no service account any more. Nobody does if it is
	// nil, and the zero account does not impersonate.
	Account *types.NamespacedName
}

// Decide evaluates the gate for updates that begin unless they are held. gather reads them from the API server. If nothing else
// holds them, the custom resources of their operators are read as well. It also returns when the decision was true.
//
// If that took long, everything is read again. If it takes as long again, these custom resources are many or the API server is slow:
// then the rest is read once more, and the decision counts from its end. It is an error if it takes much longer.
func (l Probes) Decide(ctx context.Context, gather func(context.Context) ([]Update, error)) (decision gate.Decision, at time.Time, err error) {
	at = time.Now()
	decision, _, err = l.decide(ctx, gather)
	first := time.Since(at)
	if err != nil || decision.Held || first <= decidingIsQuick {
		return decision, at, err
	}
	at = time.Now()
	decision, statuses, err := l.decide(ctx, gather)
	if err != nil || decision.Held || time.Since(at) <= decidingIsQuick {
		return decision, at, err
	}
	updates, err := gather(ctx)
	if err != nil {
		return gate.Decision{}, time.Time{}, err
	}
	if again := time.Since(at); again > 2*first+decidingIsQuick {
		return gate.Decision{}, time.Time{}, fmt.Errorf("deciding whether the update may begin took %s, after %s: what was read may be outdated",
			again.Round(time.Second), first.Round(time.Second))
	}
	return evaluateLive(updates, statuses), time.Now(), nil
}

// decide evaluates the gate once, and returns the statuses that it read, too.
func (l Probes) decide(ctx context.Context, gather func(context.Context) ([]Update, error)) (gate.Decision, map[string]*v1alpha1.ProbeStatus, error) {
	updates, err := gather(ctx)
	if err != nil {
		return gate.Decision{}, nil, err
	}
	if decision := Evaluate(updates); decision.Held || decision.Overridden {
		return decision, nil, nil
	}
	statuses, err := l.statuses(ctx, updates)
	if err != nil {
		return gate.Decision{}, nil, err
	}
	return evaluateLive(updates, statuses), statuses, nil
}

// evaluateLive evaluates the gate for updates that begin, with the statuses of their Probes by the names of the running versions.
func evaluateLive(updates []Update, statuses map[string]*v1alpha1.ProbeStatus) gate.Decision {
	for i, u := range updates {
		updates[i].Begins = true
		if u.Running != nil {
			updates[i].Live = statuses[u.Running.Name]
		}
	}
	return Evaluate(updates)
}

// Evaluate evaluates the gate for updates, without their custom resources unless these have been read.
func Evaluate(updates []Update) gate.Decision {
	var inputs []gate.Inputs
	for _, u := range updates {
		inputs = append(inputs, u.Inputs)
	}
	return gate.EvaluatePlan(inputs)
}

// statuses returns the status of each operator's Probe according to its custom resources, by the name of the running version.
func (l Probes) statuses(ctx context.Context, updates []Update) (map[string]*v1alpha1.ProbeStatus, error) {
	out := map[string]*v1alpha1.ProbeStatus{}
	for _, u := range updates {
		var err error
		switch {
		case u.Uninstalled && u.Account != nil:
			out[u.Running.Name], err = l.StatusAs(ctx, u.Probe, u.CSV, *u.Account)
		case u.DependsOnCustomResources():
			out[u.Running.Name], err = l.Status(ctx, u.Probe, u.CSV)
		}
		if err != nil {
			return nil, fmt.Errorf("reading the custom resources of %s: %w", u.Running.Path(), err)
		}
	}
	return out, nil
}
