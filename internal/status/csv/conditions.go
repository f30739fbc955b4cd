package csv

import (
	"cmp"
	"slices"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// available sets Available: whether the operator is deployed and runs, and if not, why.
func available(in Inputs, out *v1alpha1.ClusterServiceVersionStatus) {
	c := v1alpha1.ClusterServiceVersionCondition{
		Type: v1alpha1.ConditionAvailable, Status: corev1.ConditionFalse, Message: in.Decision.Message,
	}
	switch in.Decision.Phase {
	case olm.CSVPhaseSucceeded:
		c.Status, c.Message = corev1.ConditionTrue, ""
	case olm.CSVPhaseUnknown:
		c.Status, c.Reason = corev1.ConditionUnknown, in.Decision.Reason
	case olm.CSVPhaseReplacing:
		c.Reason = v1alpha1.CSVReasonBeingReplaced
	case olm.CSVPhaseDeleting:
		c.Reason = v1alpha1.CSVReasonReplaced
	default:
		c.Reason = in.Decision.Reason
	}
	set(in, out, c)
}

// progressing sets Progressing: whether the operator is being deployed. It is False while it is being replaced, and
// after it failed.
func progressing(in Inputs, out *v1alpha1.ClusterServiceVersionStatus) {
	c := v1alpha1.ClusterServiceVersionCondition{Type: v1alpha1.ConditionProgressing, Status: corev1.ConditionFalse}
	own := ownVersion(in.CSV)
	version := "v" + own.Version
	if own.Version == "" {
		version = in.CSV.Name
	}
	switch in.Decision.Phase {
	case olm.CSVPhaseSucceeded:
		c.Message = "Deployed version " + version
	case olm.CSVPhaseReplacing, olm.CSVPhaseDeleting:
	case olm.CSVPhaseFailed:
		c.Message = "Failed to deploy version " + version
		if out.Version == own {
			c.Message = "Deployed version " + version
		}
	case olm.CSVPhaseUnknown:
		c.Status, c.Reason, c.Message = corev1.ConditionUnknown, in.Decision.Reason, in.Decision.Message
	default:
		c.Status, c.Message = corev1.ConditionTrue, "Working towards "+version
	}
	set(in, out, c)
}

// upgradeable copies the condition of the operator's Probe. It removes the condition without a Probe, and if the
// operator manages the Probe's status but has not set it yet.
func upgradeable(in Inputs, out *v1alpha1.ClusterServiceVersionStatus) {
	c := v1alpha1.ClusterServiceVersionCondition{
		Type: v1alpha1.ConditionUpgradeable, Status: corev1.ConditionUnknown,
		Reason: v1alpha1.ReasonNotRead, Message: "The custom resources have not been read yet",
	}
	reported := in.Probe != nil
	if reported {
		if mirrored := meta.FindStatusCondition(in.Probe.Status.Conditions, v1alpha1.ConditionUpgradeable); mirrored != nil {
			c.Status, c.Reason, c.Message = corev1.ConditionStatus(mirrored.Status), olm.ConditionReason(mirrored.Reason), mirrored.Message
		} else {
			reported = in.Probe.Spec != nil && in.Probe.Spec.Manager != v1alpha1.ManagerOperator
		}
	}
	if !reported {
		out.Conditions = slices.DeleteFunc(out.Conditions, func(c v1alpha1.ClusterServiceVersionCondition) bool {
			return c.Type == v1alpha1.ConditionUpgradeable
		})
		return
	}
	set(in, out, c)
}

// set replaces a condition, and removes entries without a type, which are the history that OLM kept here. The
// transition time changes only with the status, the update time with any field.
func set(in Inputs, out *v1alpha1.ClusterServiceVersionStatus, c v1alpha1.ClusterServiceVersionCondition) {
	c.Phase = in.Decision.Phase
	before := out.GetCondition(c.Type)
	c.LastUpdateTime, c.LastTransitionTime = before.LastUpdateTime, before.LastTransitionTime
	if c != before || c.LastUpdateTime == nil {
		c.LastUpdateTime = in.Now.DeepCopy()
	}
	if c.Status != before.Status || c.LastTransitionTime == nil {
		c.LastTransitionTime = in.Now.DeepCopy()
	}
	out.Conditions = slices.DeleteFunc(out.Conditions, func(b v1alpha1.ClusterServiceVersionCondition) bool {
		return b.Type == c.Type || b.Type == ""
	})
	out.Conditions = append(out.Conditions, c)
	slices.SortStableFunc(out.Conditions, func(a, b v1alpha1.ClusterServiceVersionCondition) int { return cmp.Compare(a.Type, b.Type) })
}
