package platformoperator

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	operatorsv1alpha1 "github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/api/platform/v1alpha1"
	"github.com/operator-status/operator-status/internal/messages"
	"github.com/operator-status/operator-status/internal/readiness"
	"github.com/operator-status/operator-status/internal/status/condition"
	subscriptionstatus "github.com/operator-status/operator-status/internal/status/subscription"
)

// resources sets the readiness of each object.
func resources(in Inputs, out *v1alpha1.PlatformOperatorStatus) {
	out.Resources = nil
	for _, o := range in.Objects {
		how := in.readiness(o)
		out.Resources = append(out.Resources, v1alpha1.ResourceStatus{
			Name: o.Entry, Reference: in.reference(o), Ready: how.Ready, Reason: how.Reason, Message: messages.Clip(how.Message, maxMessage),
		})
	}
}

// reference returns the reference to an object. One to an unreadable object keeps its UID, which deletion checks.
func (in Inputs) reference(o Object) corev1.ObjectReference {
	out := ReferenceTo(o)
	if o.Live != nil || o.Problem == nil {
		return out
	}
	for _, r := range in.Operator.Status.Resources {
		if r.Name == o.Entry && RefersTo(r.Reference, o.Object) {
			out.UID = r.Reference.UID
		}
	}
	return out
}

// ReferenceTo returns a reference to an object, with the UID if it exists.
func ReferenceTo(o Object) corev1.ObjectReference {
	out := corev1.ObjectReference{
		APIVersion: o.Object.GetAPIVersion(), Kind: o.Object.GetKind(), Namespace: o.Object.GetNamespace(), Name: o.Object.GetName(),
	}
	if o.Live != nil {
		out.UID = o.Live.GetUID()
	}
	return out
}

// RefersTo reports whether a reference is to the object, in any version of its kind.
func RefersTo(ref corev1.ObjectReference, o *unstructured.Unstructured) bool {
	return ref.GroupVersionKind().GroupKind() == o.GroupVersionKind().GroupKind() && ref.Namespace == o.GetNamespace() && ref.Name == o.GetName()
}

// readiness returns whether an object is ready. The readiness of the Subscription is that of the operator.
func (in Inputs) readiness(o Object) readiness.State {
	if problem := in.operatorProblem(); o.Entry == EntrySubscription && (o.Problem == nil || in.early(o)) && problem != nil {
		return in.operator()
	}
	if o.Problem != nil {
		return readiness.State{Failing: !in.early(o), Reason: o.Problem.Reason, Message: o.Problem.Message}
	}
	if o.Entry == EntrySubscription && o.Live != nil && o.Live.GetDeletionTimestamp() == nil {
		return in.operator()
	}
	return readiness.Of(o.Live, o.Checks)
}

// operator returns whether the operator itself is ready.
func (in Inputs) operator() readiness.State {
	running := in.Running()
	switch problem := in.operatorProblem(); {
	case in.runsOn(problem):
		return readiness.State{Ready: true}
	case problem != nil:
		return readiness.State{Failing: true, Reason: problem.Reason, Message: problem.Message}
	case running == nil:
		return readiness.State{Reason: v1alpha1.ReasonInstalling, Message: in.waitingFor()}
	}
	return readiness.State{
		Reason:  readiness.ValidReason(string(running.Status.Reason), v1alpha1.ReasonDegraded),
		Message: subscriptionstatus.PhaseMessage(running),
	}
}

// runsOn reports whether the operator runs, even if its update has a problem. Until the PlatformOperator has been
// Installed, any problem is one of the installation.
func (in Inputs) runsOn(problem *condition.Problem) bool {
	running := in.Running()
	was := meta.IsStatusConditionTrue(in.Operator.Status.Conditions, v1alpha1.ConditionInstalled)
	if running == nil || problem != nil && (!was || slices.Contains(stopping, problem.Reason)) {
		return false
	}
	return running.Status.Phase == olm.CSVPhaseSucceeded || in.replaced() && slices.Contains(yielding, running.Status.Phase)
}

// stopping holds the reasons of problems with which the operator cannot be reported as running.
var stopping = []string{
	operatorsv1alpha1.ReasonCSVFailed, operatorsv1alpha1.ReasonCSVMissing, v1alpha1.ReasonOLMNotFound, v1alpha1.ReasonDuplicatePackage,
}

// yielding holds the phases of a CSV that a newer one is replacing. Its workloads keep running.
var yielding = []olm.ClusterServiceVersionPhase{olm.CSVPhaseReplacing, olm.CSVPhaseDeleting}

// ready sets Ready: whether the operator runs and every object is ready, and which is not. Once Installed, a loss of
// readiness is Degraded, not Creating, unless the spec changed. A running operator is ready even if its update fails.
func ready(in Inputs, out *v1alpha1.PlatformOperatorStatus) {
	c := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonAvailable}
	if in.updating() {
		c.Reason = v1alpha1.ReasonUpdating
	}
	if running := in.Running(); running != nil {
		c.Message = running.Name + " runs"
	}
	problem := in.problem()
	if reasons, bad := in.unready(); len(reasons) > 0 {
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, in.unreadyReason(bad || problem != nil), strings.Join(reasons, "; ")
	}
	if problem != nil && !strings.Contains(c.Message, problem.Message) {
		c.Message += ", but: " + problem.Message
	}
	set(in, out, c)
}

// unready returns why each object is not ready, and whether any of them is failing.
func (in Inputs) unready() (reasons []string, bad bool) {
	report := func(title string, how readiness.State) {
		reasons = append(reasons, fmt.Sprintf("%s is not ready (%s): %s", title, how.Reason, how.Message))
		bad = bad || how.Failing
	}
	formatResources := false
	for _, o := range in.Objects {
		if how := in.readiness(o); !how.Ready && !o.Leaving {
			report(Title(o.Object), how)
		}
		formatResources = formatResources || o.Entry == EntrySubscription
	}
	if !formatResources { // the Subscription is only observed, or cannot be created
		if how := in.operator(); !how.Ready {
			report("The operator", how)
		}
	}
	return reasons, bad
}

// unreadyReason returns Degraded once an installed operator breaks, until all is ready again; else Failed or Creating.
func (in Inputs) unreadyReason(bad bool) string {
	before := meta.FindStatusCondition(in.Operator.Status.Conditions, v1alpha1.ConditionReady)
	was := meta.IsStatusConditionTrue(in.Operator.Status.Conditions, v1alpha1.ConditionInstalled)
	switch {
	case before != nil && before.Reason == v1alpha1.ReasonDegraded, was && (bad || in.regressed()):
		return v1alpha1.ReasonDegraded
	case bad:
		return v1alpha1.ReasonFailed
	}
	return v1alpha1.ReasonCreating
}

// regressed reports whether the operator, or with an unchanged spec any object, was ready and no longer is.
func (in Inputs) regressed() bool {
	status := in.Operator.Status
	if len(in.Objects) == 0 {
		return meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionReady)
	}
	asked := status.ObservedGeneration != in.Operator.Generation
	return slices.ContainsFunc(in.Objects, func(o Object) bool {
		if o.Leaving || in.readiness(o).Ready || asked && o.Entry != EntrySubscription {
			return false
		}
		return slices.ContainsFunc(status.Resources, func(r v1alpha1.ResourceStatus) bool {
			return r.Ready && r.Name == o.Entry && RefersTo(r.Reference, o.Object)
		})
	})
}

// failing sets FailingSince, and keeps it for a while after the failure, to show intermittent ones.
func failing(in Inputs, out *v1alpha1.PlatformOperatorStatus) {
	now := in.Now
	c := meta.FindStatusCondition(out.Conditions, v1alpha1.ConditionReady)
	bad := in.problem() != nil || c.Status == metav1.ConditionFalse && (c.Reason == v1alpha1.ReasonFailed || c.Reason == v1alpha1.ReasonDegraded)
	switch {
	case !bad && out.FailingSince == nil, !bad && in.over(out):
		out.FailingSince, out.QuietSince, out.FailingReason, out.FailingMessage = nil, nil, "", ""
	case !bad && out.QuietSince == nil:
		out.QuietSince = &now
	case bad:
		if out.FailingSince == nil {
			out.FailingSince = &now
		}
		worst := in.worst()
		out.QuietSince, out.FailingReason, out.FailingMessage = nil, worst.Reason, messages.Clip(worst.Message, maxMessage)
	}
}

// over reports whether the failure ended at least DegradedInertia ago.
func (in Inputs) over(out *v1alpha1.PlatformOperatorStatus) bool {
	return out.QuietSince != nil && in.Now.Sub(out.QuietSince.Time) >= in.DegradedInertia
}

// worst returns the problem to report as the cause: a failure first, then an object that is just not ready yet.
func (in Inputs) worst() condition.Problem {
	if p := in.problem(); p != nil {
		return *p
	}
	worst := readiness.State{Ready: true}
	for _, o := range in.Objects {
		if how := in.readiness(o); !how.Ready && !o.Leaving && (how.Failing || worst.Ready) && !worst.Failing {
			worst = how
			worst.Message = Title(o.Object) + ": " + how.Message
		}
	}
	if worst.Ready {
		worst = in.operator()
	}
	return condition.Problem{Reason: readiness.ValidReason(worst.Reason, v1alpha1.ReasonDegraded), Message: worst.Message}
}

// quietIn returns how long until a failure that has ended counts as over, at least a second, or 0.
func (in Inputs) quietIn(out *v1alpha1.PlatformOperatorStatus) time.Duration {
	if out.QuietSince == nil {
		return 0
	}
	return max(in.DegradedInertia-in.Now.Sub(out.QuietSince.Time), time.Second)
}

// relatedObjects sets the objects to inspect when something is wrong.
func relatedObjects(in Inputs, out *v1alpha1.PlatformOperatorStatus) {
	var found []corev1.ObjectReference
	for _, r := range out.Resources {
		ref := r.Reference
		ref.UID = ""
		found = append(found, ref)
	}
	if sub := in.Subscription; sub != nil {
		found = append(found, in.below(sub)...)
	}
	order := func(a, b corev1.ObjectReference) int {
		return cmp.Or(cmp.Compare(a.APIVersion, b.APIVersion), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	}
	slices.SortFunc(found, order)
	found = slices.CompactFunc(found, func(a, b corev1.ObjectReference) bool { return order(a, b) == 0 })
	out.RelatedObjects = found[:min(len(found), v1alpha1.MaxRelatedObjects)]
}

// below returns references to the Subscription, and to its catalog, InstallPlan, CSVs and Probe.
func (in Inputs) below(sub *operatorsv1alpha1.Subscription) []corev1.ObjectReference {
	var out []corev1.ObjectReference
	add := func(apiVersion, kind, namespace, name string) {
		out = append(out, corev1.ObjectReference{APIVersion: apiVersion, Kind: kind, Namespace: namespace, Name: name})
	}
	version := operatorsv1alpha1.GroupVersion.String()
	add(version, operatorsv1alpha1.SubscriptionKind, sub.Namespace, sub.Name)
	if sub.Spec != nil {
		add(version, olm.CatalogSourceKind, sub.Spec.CatalogSourceNamespace, sub.Spec.CatalogSource)
	}
	if ref := sub.Status.InstallPlanRef; ref != nil {
		add(version, olm.InstallPlanKind, sub.Namespace, ref.Name)
	}
	for _, name := range []string{sub.Status.CurrentCSV, sub.Status.InstalledCSV} {
		if in.CSVs[name] != nil {
			add(version, operatorsv1alpha1.ClusterServiceVersionKind, sub.Namespace, name)
		}
	}
	if in.Probe != nil {
		add(version, operatorsv1alpha1.ProbeKind, in.Probe.Namespace, in.Probe.Name)
	}
	return out
}
