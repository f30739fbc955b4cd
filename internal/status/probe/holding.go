package probe

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/csvchain"
)

// Held is an update that waits for a Probe.
type Held struct {
	// Gate is the gate that holds the update: a reason of the condition Holding.
	Gate string

	Subscription string // its name
	Target       string // the ClusterServiceVersion that waits
	Since        metav1.Time
}

// HeldBy returns the held updates of a ClusterServiceVersion's operator, sorted by Subscription. At the approval gate,
// status.installedCSV of the Subscription is the CSV itself; at the OperatorCondition gate, it is the CSV that replaces
// it; if the API server denied the InstallPlan, OLM reports the CSV itself as the target.
func HeldBy(csv string, subs []v1alpha1.Subscription, csvs map[string]*v1alpha1.ClusterServiceVersion) []Held {
	var out []Held
	for i := range subs {
		sub := &subs[i]
		c := sub.Status.GetCondition(v1alpha1.SubscriptionUpgradeHeld)
		target := sub.Status.CurrentCSV
		denied := ""
		if csvs[csv] != nil && sub.Status.InstalledCSV == csv {
			denied = csvchain.DeniedUpdate(sub, csvs[csv], csvs)
		}
		if c.Status != corev1.ConditionTrue || c.LastTransitionTime == nil || target == csv && denied == "" {
			continue
		}
		held := Held{Gate: v1alpha1.ReasonApprovalGate, Subscription: sub.Name, Target: target, Since: *c.LastTransitionTime}
		if denied != "" {
			held.Gate, held.Target = v1alpha1.ReasonUpgradeHold, denied
		} else if sub.Status.InstalledCSV == target {
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
		Message: fmt.Sprintf("Subscription %s holds the update to %s: %s", held.Subscription, held.Target, upgradeable.Message),
	})
}
