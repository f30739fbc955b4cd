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
	// DecisionLasts is how long after a decision the request may take that begins the updates. It is not repeated after that, not
	// even if the API server asks to retry it.
	DecisionLasts = 2 * time.Second

	// readingIsQuick is how long reading custom resources may take before everything else is read again after it.
	readingIsQuick = time.Second
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

// Decide evaluates the gate for updates that begin unless they are held, as gather has just read them from the API server. If
// nothing else holds them, the custom resources of their operators are read as well; if that took long, gather is called again.
func (l Probes) Decide(ctx context.Context, updates []Update, gather func(context.Context) ([]Update, error)) (gate.Decision, error) {
	if decision := Evaluate(updates); decision.Held || decision.Overridden {
		return decision, nil
	}
	started := time.Now()
	statuses, err := l.statuses(ctx, updates)
	if err != nil {
		return gate.Decision{}, err
	}
	if time.Since(started) > readingIsQuick {
		if updates, err = gather(ctx); err != nil {
			return gate.Decision{}, err
		}
	}
	for i, u := range updates {
		updates[i].Begins = true
		if u.Running != nil {
			updates[i].Live = statuses[u.Running.Name]
		}
	}
	return Evaluate(updates), nil
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
