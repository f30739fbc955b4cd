package platformoperator

import (
	"cmp"
	"slices"
	"strings"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/platform/v1alpha1"
	"github.com/operator-status/operator-status/internal/gate"
)

// holds sets the causes for which an update has to wait. Like Upgradeable, they are kept while an observed Subscription is missing.
func holds(in Inputs, out *v1alpha1.PlatformOperatorStatus) {
	if in.lost(out) {
		return
	}
	out.Holds = nil
	if _, held := in.held(); in.replaced() && !held {
		return // the update may begin: an UpgradeHold still holds those to other versions
	}
	for _, h := range inOrder(in.UpgradeHolds) {
		for _, cause := range h.Status.Holds {
			if len(out.Holds) == v1alpha1.MaxHolds {
				return
			}
			if in.replaced() {
				cause.Override = strings.ReplaceAll(cause.Override, gate.AnyVersion, in.Subscription.Status.CurrentCSV)
			}
			out.Holds = append(out.Holds, *cause.DeepCopy())
		}
	}
}

// inOrder sorts UpgradeHolds as the gate does: those of users first, the oldest before.
func inOrder(all []holdv1alpha1.UpgradeHold) []holdv1alpha1.UpgradeHold {
	rank := func(h holdv1alpha1.UpgradeHold) int {
		if h.IsReported() {
			return 1
		}
		return 0
	}
	return slices.SortedFunc(slices.Values(all), func(a, b holdv1alpha1.UpgradeHold) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
}
