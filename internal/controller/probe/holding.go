package probe

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// Held is an update that waits for a Probe.
type Held struct {
	// Gate is the gate that holds the update: a reason of the condition Holding.
	Gate string

	Subscription string // its name
	Target       string // the ClusterServiceVersion that waits
	Since        metav1.Time
}

// heldBy returns the held updates of a ClusterServiceVersion's operator, sorted by Subscription. At the approval gate,
// status.installedCSV of the Subscription is the CSV itself; at the OperatorCondition gate, it is the CSV that replaces
// it.
func heldBy(csv string, subs []v1alpha1.Subscription, csvs map[string]*v1alpha1.ClusterServiceVersion) []Held {
	var out []Held
	for i := range subs {
		sub := &subs[i]
		c := sub.Status.GetCondition(v1alpha1.SubscriptionUpgradeHeld)
		target := sub.Status.CurrentCSV
		if c.Status != corev1.ConditionTrue || c.LastTransitionTime == nil || target == csv {
			continue
		}
		held := Held{Gate: v1alpha1.ReasonApprovalGate, Subscription: sub.Name, Target: target, Since: *c.LastTransitionTime}
		if sub.Status.InstalledCSV == target {
			if csvs[target] == nil || csvs[target].Spec.Replaces != csv {
				continue
			}
			held.Gate = v1alpha1.ReasonOperatorConditionGate
		} else if sub.Status.InstalledCSV != csv {
			continue
		}
		out = append(out, held)
	}
	slices.SortFunc(out, func(a, b Held) int { return cmp.Compare(a.Subscription, b.Subscription) })
	return out
}

// holding sets Holding, with the update, its gate and since when, while the Probe is not upgradeable.
func holding(in Inputs, _ findings, out *v1alpha1.ProbeStatus) {
	if len(in.Held) == 0 || !meta.IsStatusConditionFalse(out.Conditions, v1alpha1.ConditionUpgradeable) {
		meta.RemoveStatusCondition(&out.Conditions, v1alpha1.ConditionHolding)
		return
	}
	held := in.Held[0]
	upgradeable := meta.FindStatusCondition(out.Conditions, v1alpha1.ConditionUpgradeable)
	in.Now = held.Since
	set(in, out, metav1.Condition{
		Type: v1alpha1.ConditionHolding, Status: metav1.ConditionTrue, Reason: held.Gate,
		Message: fmt.Sprintf("Subscription %s waits with the update to %s: %s", held.Subscription, held.Target, upgradeable.Message),
	})
}

// held returns the updates that wait for a Probe; none while Subscriptions are not watched.
func (r *StatusReconciler) held(ctx context.Context, key types.NamespacedName) ([]Held, error) {
	if !r.subscriptions.Load() {
		return nil, nil
	}
	subs := &v1alpha1.SubscriptionList{}
	if err := r.Client.List(ctx, subs, client.InNamespace(key.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the Subscriptions of namespace %s: %w", key.Namespace, err)
	}
	waits := slices.ContainsFunc(subs.Items, func(sub v1alpha1.Subscription) bool {
		return sub.Status.GetCondition(v1alpha1.SubscriptionUpgradeHeld).Status == corev1.ConditionTrue
	})
	if !waits {
		return nil, nil
	}
	list, err := siblings(ctx, r.Client, key.Namespace)
	if err != nil {
		return nil, err
	}
	csvs := map[string]*v1alpha1.ClusterServiceVersion{}
	for i := range list {
		csvs[list[i].Name] = &list[i]
	}
	return heldBy(key.Name, subs.Items, csvs), nil
}

// WatchSubscriptions enqueues the Probes of a namespace when a Subscription changes, so that they report held updates.
// Call it once Subscriptions and ClusterServiceVersions are installed.
func (r *StatusReconciler) WatchSubscriptions(mgr ctrl.Manager, c controller.Controller) error {
	err := c.Watch(source.Kind[client.Object](mgr.GetCache(), &v1alpha1.Subscription{}, handler.EnqueueRequestsFromMapFunc(r.ofNamespace)))
	r.subscriptions.Store(err == nil)
	return err
}
