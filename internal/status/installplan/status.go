// Package installplan computes the status of an InstallPlan: its content, its blockers, and why it failed, expressed in
// OLM's phases.
package installplan

import (
	"fmt"
	"slices"
	"strings"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/gate"
	"github.com/operator-status/operator-status/internal/messages"
	"github.com/operator-status/operator-status/internal/status/condition"
)

// Inputs holds everything that an InstallPlan's status depends on. A nil field was not determined: it
// leaves its part of the status unchanged.
type Inputs struct {
	Plan *olm.InstallPlan

	// Problem is why the plan cannot be resolved.
	Problem *condition.Problem

	// Resolution is the plan's content.
	Resolution *Resolution

	// Gate is the decision about the updates in the plan. A plan that it does not hold is installed once it is approved.
	Gate *gate.Decision

	// Written are the objects that have been written since the status was.
	Written []Object

	// Result is the result of installing.
	Result *Result

	Now metav1.Time
}

// Resolution is the content of a plan.
type Resolution struct {
	Steps   []*olm.Step
	Bundles []Bundle

	// ServiceAccount is the service account that the plan is applied as, or empty for the manager.
	ServiceAccount types.NamespacedName
}

// Bundle is a bundle in a plan.
type Bundle struct {
	Name, Replaces, Image string
	Catalog               types.NamespacedName

	// Digest is that of the image, and SignedBy its signers. Either may be empty.
	Digest, SignedBy string

	// Preview is that of a bundle that waits for approval.
	Preview *Preview
}

// Preview has the changes of an update in words.
type Preview struct {
	// Changes are those of images and rights.
	Changes string

	// Breaking is why custom resources would become invalid, and Unknown why that cannot be told. Either may be empty.
	Breaking, Unknown string
}

// Object identifies the object of a step.
type Object struct{ Bundle, Kind, Name string }

// Result is the result of installing a plan.
type Result struct {
	// Phase is Complete, Failed, or Installing if the plan is retried.
	Phase olm.InstallPlanPhase

	// Problem is why a plan failed or is retried.
	Problem condition.Problem
}

// compatible returns the condition Compatible of a bundle.
func compatible(p Preview, now metav1.Time) olm.BundleLookupCondition {
	out := olm.BundleLookupCondition{
		Type: v1alpha1.ConditionCompatible, Status: corev1.ConditionTrue, Reason: v1alpha1.ReasonCustomResourcesValid, Message: p.Changes,
		LastTransitionTime: &now,
	}
	switch {
	case p.Breaking != "":
		out.Status, out.Reason, out.Message = corev1.ConditionFalse, v1alpha1.PlanReasonCRDUpdateUnsafe, p.Breaking+". "+p.Changes
	case p.Unknown != "":
		out.Status, out.Reason = corev1.ConditionUnknown, v1alpha1.ReasonNotCompared
		out.Message = "The custom resources have not been checked: " + p.Unknown + ". " + p.Changes
	}
	return out
}

// Compute returns the status of an InstallPlan. It is pure: it depends only on in, and changes nothing.
func Compute(in Inputs) olm.InstallPlanStatus {
	in.Now = in.Now.Rfc3339Copy() // the precision of the API server
	out := in.Plan.Status.DeepCopy()
	for _, concern := range []func(Inputs, *olm.InstallPlanStatus){
		unresolved,
		resolved,
		bundles,
		upgradeHeld,
		approval,
		written,
		installed, // last: it names the written objects
	} {
		concern(in, out)
	}
	return *out
}

// unresolved sets why the plan cannot be resolved. The plan stays in Planning and is retried when a catalog changes.
func unresolved(in Inputs, out *olm.InstallPlanStatus) {
	if p := in.Problem; p != nil {
		out.Phase, out.Message = olm.InstallPlanPhasePlanning, p.Message
		set(in, out, olm.InstallPlanResolved, corev1.ConditionFalse, *p)
	}
}

// resolved sets the steps of the plan, which now waits for approval.
func resolved(in Inputs, out *olm.InstallPlanStatus) {
	if out.CatalogSources == nil {
		out.CatalogSources = []string{} // the field is required
	}
	if in.Resolution == nil {
		return
	}
	out.Phase, out.Message, out.Plan, out.CatalogSources = olm.InstallPlanPhaseRequiresApproval, "", nil, []string{}
	for _, s := range in.Resolution.Steps {
		out.Plan = append(out.Plan, s.DeepCopy())
		out.CatalogSources = append(out.CatalogSources, s.Resource.CatalogSource)
	}
	slices.Sort(out.CatalogSources)
	out.CatalogSources = slices.Compact(out.CatalogSources)
	set(in, out, olm.InstallPlanResolved, corev1.ConditionTrue, condition.Problem{Reason: v1alpha1.ReasonResolved})
}

// bundles sets the bundles of the plan with the digests of their images and their signers, and the service account that
// the plan is applied as.
func bundles(in Inputs, out *olm.InstallPlanStatus) {
	if in.Resolution == nil {
		return
	}
	out.BundleLookups, out.AttenuatedServiceAccountRef = nil, nil
	for _, b := range in.Resolution.Bundles {
		lookup := olm.BundleLookup{
			Path: b.Image, Identifier: b.Name, Replaces: b.Replaces,
			CatalogSourceRef: &corev1.ObjectReference{Namespace: b.Catalog.Namespace, Name: b.Catalog.Name},
		}
		if b.Digest != "" && !strings.Contains(lookup.Path, "@") {
			lookup.Path += "@" + b.Digest
		}
		if b.SignedBy != "" {
			lookup.Conditions = []olm.BundleLookupCondition{{
				Type: v1alpha1.ConditionSignatureVerified, Status: corev1.ConditionTrue, Reason: v1alpha1.ReasonSignatureVerified,
				Message: "Signed by " + b.SignedBy, LastTransitionTime: &in.Now,
			}}
		}
		if b.Preview != nil {
			lookup.Conditions = append(lookup.Conditions, compatible(*b.Preview, in.Now))
		}
		out.BundleLookups = append(out.BundleLookups, lookup)
	}
	if account := in.Resolution.ServiceAccount; account.Name != "" {
		out.AttenuatedServiceAccountRef = &corev1.ObjectReference{Kind: "ServiceAccount", Namespace: account.Namespace, Name: account.Name}
	}
}

// upgradeHeld sets UpgradeHeld to the gate's decision. Without a hold an existing condition becomes False.
func upgradeHeld(in Inputs, out *olm.InstallPlanStatus) {
	d := in.Gate
	switch {
	case d == nil:
	case d.Held:
		set(in, out, v1alpha1.ConditionUpgradeHeld, corev1.ConditionTrue, condition.Problem{Reason: d.Reason, Message: d.Message})
	case d.Overridden:
		set(in, out, v1alpha1.ConditionUpgradeHeld, corev1.ConditionFalse, condition.Problem{Reason: d.Reason, Message: d.Message})
	case out.GetCondition(v1alpha1.ConditionUpgradeHeld).Status != corev1.ConditionUnknown:
		set(in, out, v1alpha1.ConditionUpgradeHeld, corev1.ConditionFalse, condition.Problem{Reason: v1alpha1.ReasonNotHeld})
	}
}

// approval sets the phase once the gate was evaluated: Installing, or RequiresApproval with the blocker as message.
// The message of a plan that is being retried stays until the next attempt has a result, since each status update is an
// event that enqueues the plan.
func approval(in Inputs, out *olm.InstallPlanStatus) {
	switch {
	case in.Gate == nil || in.Problem != nil:
	case in.Gate.Held:
		out.Phase, out.Message = olm.InstallPlanPhaseRequiresApproval, in.Gate.Message
	case !Approved(in.Plan):
		out.Phase, out.Message = olm.InstallPlanPhaseRequiresApproval, fmt.Sprintf(
			"Waiting for approval: kubectl patch installplan.operators.coreos.com -n %s %s --type merge -p '{\"spec\":{\"approved\":true}}'", in.Plan.Namespace, in.Plan.Name)
	default:
		if out.Phase != olm.InstallPlanPhaseInstalling {
			out.Phase, out.Message = olm.InstallPlanPhaseInstalling, ""
		}
		if out.StartTime == nil {
			out.StartTime = &in.Now
		}
	}
}

// Approved reports whether a plan no longer needs approval by a user.
func Approved(plan *olm.InstallPlan) bool {
	return plan.Spec.Approval == olm.ApprovalAutomatic || plan.Spec.Approved
}

// written sets the steps to Present whose objects have been written.
func written(in Inputs, out *olm.InstallPlanStatus) {
	for _, s := range out.Plan {
		if slices.Contains(in.Written, Object{s.Resolving, s.Resource.Kind, s.Resource.Name}) {
			s.Status = olm.StepStatusPresent
		}
	}
}

// installed sets Installed to the result of installing. If that is complete, the condition has no reason, as in OLM.
func installed(in Inputs, out *olm.InstallPlanStatus) {
	if in.Result == nil {
		return
	}
	status, p := corev1.ConditionFalse, in.Result.Problem
	if in.Result.Phase == olm.InstallPlanPhaseComplete {
		status = corev1.ConditionTrue
	}
	if in.Result.Phase == olm.InstallPlanPhaseFailed {
		p.Message = strings.TrimRight(p.Message, ". ") + progress(p.Reason, out.Plan) + ". Fix the cause, then delete this InstallPlan to have it recreated"
	}
	out.Phase, out.Message = in.Result.Phase, p.Message
	set(in, out, olm.InstallPlanInstalled, status, p)
}

// progress returns a sentence about the objects that a plan has written when it fails for a reason, or about those that
// are missing if it cannot be resumed. It is empty if the steps are not up to date.
func progress(reason string, steps []*olm.Step) string {
	var present, missing []string
	for _, s := range steps {
		if s.Status == olm.StepStatusPresent {
			present = append(present, s.Resource.Kind+" "+s.Resource.Name)
		} else {
			missing = append(missing, fmt.Sprintf("%s %s of %s", s.Resource.Kind, s.Resource.Name, s.Resolving))
		}
	}
	switch {
	case reason == v1alpha1.PlanReasonContentGone:
		return ". Not known to be written: " + messages.List(missing, maxListed, ", ")
	case reason == v1alpha1.PlanReasonContentChanged || reason == v1alpha1.PlanReasonIdentityChanged:
		return ""
	case len(present) == 0:
		return ". Nothing has been written"
	}
	return ". Written so far: " + messages.List(present, maxListed, ", ")
}

// maxListed limits how many objects a message names.
const maxListed = 5

// set sets a condition. Its times change only if the condition does.
func set(in Inputs, out *olm.InstallPlanStatus, kind olm.InstallPlanConditionType, status corev1.ConditionStatus, p condition.Problem) {
	before, reason := out.GetCondition(kind), olm.InstallPlanConditionReason(p.Reason)
	if before.Status != status || before.Reason != reason || before.Message != p.Message {
		out.SetCondition(olm.InstallPlanCondition{
			Type: kind, Status: status, Reason: reason, Message: p.Message, LastUpdateTime: &in.Now, LastTransitionTime: &in.Now,
		})
	}
}
