package installplan

import (
	"cmp"
	"context"
	"fmt"
	"time"

	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/annotations"
	"github.com/operator-status/operator-status/internal/csvchain"
	"github.com/operator-status/operator-status/internal/gate"
	"github.com/operator-status/operator-status/internal/isolation"
	"github.com/operator-status/operator-status/internal/live"
	"github.com/operator-status/operator-status/internal/operatorgroup"
	"github.com/operator-status/operator-status/internal/optin"
	"github.com/operator-status/operator-status/internal/upgradehold"
	"github.com/operator-status/operator-status/internal/versionrange"
)

// decideAgainAfter is how old a decision of the gate may be before the first object of an update is written. An older one is taken
// again, so that there is time left to write.
const decideAgainAfter = live.DecisionLasts / 2

// update is a CSV of a plan that replaces a running one, or takes over the custom resources that an uninstalled one left.
type update struct {
	target  string
	version string                          // of the target
	running *v1alpha1.ClusterServiceVersion // only its name if it was uninstalled
	left    *optin.OptIn                    // declaration of the uninstalled one, or nil
}

// updates returns the CSVs that a plan would replace, read from the API server.
func (r *Reconciler) updates(ctx context.Context, namespace string, replacements []replacement) ([]update, error) {
	var out []update
	for _, c := range replacements {
		running, err := r.running(ctx, namespace, c.replaces)
		if err != nil {
			return nil, err
		}
		if running != nil {
			out = append(out, update{target: c.name, version: c.version, running: running})
			continue
		}
		left, err := r.uninstalled(ctx, namespace, c)
		if err != nil {
			return nil, err
		}
		out = append(out, left...)
	}
	return out, nil
}

// uninstalled returns the operators that opted in, no longer exist, and owned kinds that a CSV of a plan owns, too. The
// same version may be installed again.
func (r *Reconciler) uninstalled(ctx context.Context, namespace string, c replacement) ([]update, error) {
	records, err := r.OptIns.In(ctx, namespace)
	if err != nil {
		return nil, err
	}
	var out []update
	for _, record := range records {
		if record.Of.Name == c.name || len(record.Resources) == 0 || !record.Shares(c.owned) {
			continue
		}
		csv := &metav1.PartialObjectMetadata{}
		csv.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha1.ClusterServiceVersionKind))
		if err := r.Reader.Get(ctx, record.Of, csv); err == nil {
			continue
		} else if !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("getting ClusterServiceVersion %s: %w", record.Of, err)
		}
		former := &v1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: record.Of.Namespace, Name: record.Of.Name}}
		out = append(out, update{target: c.name, running: former, left: &record})
	}
	return out, nil
}

// running returns the CSV that runs if the named one is the newest, or nil.
func (r *Reconciler) running(ctx context.Context, namespace, name string) (*v1alpha1.ClusterServiceVersion, error) {
	chain := map[string]*v1alpha1.ClusterServiceVersion{}
	for next := name; next != "" && chain[next] == nil; next = chain[next].Spec.Replaces {
		csv := &v1alpha1.ClusterServiceVersion{}
		if err := r.Reader.Get(ctx, types.NamespacedName{Namespace: namespace, Name: next}, csv); apierrors.IsNotFound(err) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("getting ClusterServiceVersion %s/%s: %w", namespace, next, err)
		}
		if chain[next] = csv; csvchain.Ran(csv) {
			break
		}
	}
	return csvchain.Running(chain, name), nil
}

// decision is a decision of the gate about a plan.
type decision struct {
	gate.Decision
	asked bool      // whether the plan updates an operator
	at    time.Time // when it was true, or zero if the plan does not begin
}

// decide evaluates the gate for every operator that a plan would update. It reads from the API server, since the cache may
// be stale. If begins is true, the plan is about to begin: then nothing that was not read for this decision counts, and
// the custom resources of the operators are read as well.
func (r *Reconciler) decide(ctx context.Context, namespace string, p *proposal, begins bool) (out decision, err error) {
	gather := func(ctx context.Context) ([]live.Update, error) {
		updates, err := r.gather(ctx, namespace, p)
		out.asked = len(updates) > 0
		return updates, err
	}
	if begins {
		out.Decision, out.at, err = r.Live.Decide(ctx, gather)
		return out, err
	}
	updates, err := gather(ctx)
	if err == nil {
		out.Decision = live.Evaluate(updates)
	}
	return out, err
}

// gather reads what the gate depends on for each update of a plan. Custom resources of uninstalled operators are read as the
// account that the plan is applied as.
func (r *Reconciler) gather(ctx context.Context, namespace string, p *proposal) ([]live.Update, error) {
	updates, err := r.updates(ctx, namespace, p.replacements())
	if err != nil || len(updates) == 0 {
		return nil, err
	}
	targets, err := operatorgroup.HashOf(ctx, r.Reader, r.Client, namespace)
	if err != nil {
		return nil, err
	}
	reader, err := r.ProbeReader(ctx)
	if err != nil {
		return nil, err
	}
	subs := &v1alpha1.SubscriptionList{}
	if err := r.Reader.List(ctx, subs, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("listing the Subscriptions of namespace %s: %w", namespace, err)
	}
	holds, err := upgradehold.List(ctx, r.Reader, r.OptIns.Namespace, subs.Items)
	if err != nil {
		return nil, err
	}
	policies, err := annotations.Policies(ctx, r.Reader)
	if err != nil {
		return nil, err
	}
	var out []live.Update
	for _, u := range updates {
		in, err := r.inputsOf(ctx, u, reader, targets, policies)
		if err != nil {
			return nil, err
		}
		owner := csvchain.SubscriptionOf(u.running, subs.Items)
		if in.Request = csvchain.Request(cmp.Or(allowing(u, subs.Items), owner)); owner != nil && !in.Uninstalled {
			in.UpgradeHolds = gate.ByUsers(holds, holdv1alpha1.SubscribedOperator(owner.Namespace, owner.Name), r.Now())
			in.Versions, in.Version = versionrange.Of(owner.Annotations), u.version
		}
		out = append(out, live.Update{Inputs: in, CSV: u.running, Account: new(p.account())})
	}
	return out, nil
}

func (r *Reconciler) inputsOf(ctx context.Context, u update, reader, targets string, policies []holdv1alpha1.ProbePolicy) (out gate.Inputs, err error) {
	out.Running, out.Target, out.Reader, out.Targets = csvchain.Version(u.running), u.target, reader, targets
	key := client.ObjectKeyFromObject(u.running)
	if u.left != nil {
		out.Uninstalled, out.Probe = true, annotations.ProbeOf(u.running, v1alpha1.ManagerCRDAnnotations, u.left.Resources)
		return out, nil
	}
	if out.Probe, err = annotations.Find(ctx, r.Reader, key); err != nil {
		return out, err
	}
	if out.Probe != nil {
		if out.Reader, err = isolation.LiveReader(ctx, r.Reader, out.Probe, reader); err != nil {
			return out, err
		}
	}
	record, err := r.OptIns.Get(ctx, key)
	if err != nil {
		return out, err
	}
	if out.Declaration, err = annotations.Declared(ctx, r.Client, record, policies, u.running); err != nil {
		return out, err
	}
	out.OperatorCondition, err = r.operatorCondition(ctx, key)
	return out, err
}

func (r *Reconciler) operatorCondition(ctx context.Context, key types.NamespacedName) (*operatorsv2.OperatorCondition, error) {
	out := &operatorsv2.OperatorCondition{}
	if err := r.Reader.Get(ctx, key, out); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return nil, nil
		}
		return nil, fmt.Errorf("getting OperatorCondition %s: %w", key, err)
	}
	return out, nil
}

// allowing returns the Subscription on which a user allows the target, or nil. That ends no hold of another user.
func allowing(u update, subs []v1alpha1.Subscription) *v1alpha1.Subscription {
	for i := range subs {
		if subs[i].Annotations[v1alpha1.AnnotationAllowUpgrade] == u.target {
			return &subs[i]
		}
	}
	return nil
}

// hasBegun reports whether a plan has written one of its CSVs. From then on it is resumed, whatever the gate decides:
// half an update is worse than either version.
func (r *Reconciler) hasBegun(ctx context.Context, namespace, plan string, csvs []string) (bool, error) {
	for _, name := range csvs {
		csv := &metav1.PartialObjectMetadata{}
		csv.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha1.ClusterServiceVersionKind))
		if err := r.Reader.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, csv); client.IgnoreNotFound(err) != nil {
			return false, fmt.Errorf("getting ClusterServiceVersion %s/%s: %w", namespace, name, err)
		} else if err == nil && csv.Annotations[v1alpha1.AnnotationInstallPlan] == plan {
			return true, nil
		}
	}
	return false, nil
}

// heldError is the decision of the gate that a plan must not begin.
type heldError struct{ gate.Decision }

func (e *heldError) Error() string { return e.Message }

// confirm returns until when the first object of a plan may be written, according to a fresh decision of the gate, or
// zero if the plan updates no operator. It returns a *heldError if the gate holds the plan.
func (a *attempt) confirm(ctx context.Context) (time.Time, error) {
	if a.gate == nil || time.Since(a.decided) > decideAgainAfter {
		if err := a.evaluate(ctx); err != nil {
			return time.Time{}, err
		}
	}
	switch {
	case a.gate.Held:
		return time.Time{}, &heldError{*a.gate}
	case !a.asked:
		return time.Time{}, nil
	}
	return a.decided.Add(live.DecisionLasts), nil
}
