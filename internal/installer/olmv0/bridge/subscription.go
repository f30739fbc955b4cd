package bridge

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"google.golang.org/grpc/connectivity"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/csvchain"
	"github.com/operator-status/operator-status/internal/gate"
	subscriptionstatus "github.com/operator-status/operator-status/internal/status/subscription"
)

// ownTypes are the condition types that OLM does not have, in the order in which they are appended. OLM preserves
// conditions of unknown types. Conditions of OLM's types are never written.
var ownTypes = subscriptionstatus.OwnTypes()

// Inputs holds everything that our conditions on OLM's Subscription depend on, as read at one moment.
type Inputs struct {
	Subscription *v1alpha1.Subscription

	// CatalogSource that the spec names, or nil.
	CatalogSource *olm.CatalogSource

	// Plan is the InstallPlan that the status refers to, or nil if none is needed.
	Plan *olm.InstallPlan

	// CSVs are the ClusterServiceVersions of the namespace, by name.
	CSVs map[string]*v1alpha1.ClusterServiceVersion

	// Verdict of the approval gate on the plan. It is the zero value unless the plan waits for approval.
	Verdict Verdict

	// ApprovalDenied is true if the plan waits for a user whose approval an UpgradeHold denies.
	ApprovalDenied bool

	// HeldByOLM is the decision about the update that OLM has started.
	HeldByOLM gate.Decision

	// Denied is true if OLM could not create its last InstallPlan because of an UpgradeHold. HeldByPolicy is then the decision
	// about the updates in it, and DeniedUpdate the version of this operator in it, or empty.
	Denied       bool
	HeldByPolicy gate.Decision
	DeniedUpdate string

	Now metav1.Time
}

// Inputs returns the inputs of the conditions of a Subscription. The catalog that its spec names and the plan that its status
// refers to may be nil.
func (n Namespace) Inputs(sub *v1alpha1.Subscription, catalog *olm.CatalogSource, plan *olm.InstallPlan) Inputs {
	out := Inputs{Subscription: sub, CatalogSource: catalog, CSVs: n.CSVs}
	if !Superseded(plan, sub, n.CSVs) {
		out.Plan = plan
	}
	switch {
	case Waits(out.Plan):
		out.Verdict = Judge(out.Plan, n)
		out.ApprovalDenied = slices.ContainsFunc(n.UpgradeHolds, func(h holdv1alpha1.UpgradeHold) bool {
			return meta.IsStatusConditionTrue(h.Status.Conditions, holdv1alpha1.ConditionEnforced) &&
				denies(&h, sub.Namespace, out.Plan.Spec.ClusterServiceVersionNames)
		})
	case csvchain.DeniedVersions(sub) != nil:
		out.Denied, out.HeldByPolicy = true, n.heldByPolicy()
		if in := n.Update(sub); in.Running != nil {
			out.DeniedUpdate = csvchain.DeniedUpdate(sub, n.CSVs[in.Running.Name], n.CSVs)
		}
	default:
		out.HeldByOLM = n.HeldByOLM(sub)
	}
	return out
}

// Conditions returns the desired conditions of OLM's Subscription: those of others unchanged, then ours.
func Conditions(in Inputs) []v1alpha1.SubscriptionCondition {
	in.Now = in.Now.Rfc3339Copy() // the precision of the API server
	status := subscriptionstatus.Compute(in.inputs())
	out := slices.DeleteFunc(slices.Clone(in.Subscription.Status.Conditions), func(c v1alpha1.SubscriptionCondition) bool {
		return slices.Contains(ownTypes, c.Type)
	})
	if c := in.approvalMissing(status); c != nil {
		in.set(&status, *c)
	}
	if c := in.withoutEffect(status); c != nil {
		in.set(&status, *c)
	}
	in.set(&status, in.upToDate(status))
	for _, t := range ownTypes {
		if c := status.GetCondition(t); c.Status != corev1.ConditionUnknown {
			out = append(out, c)
		}
	}
	return out
}

// set replaces a condition. Its transition time changes only if the Subscription now has another status.
func (in Inputs) set(status *v1alpha1.SubscriptionStatus, c v1alpha1.SubscriptionCondition) {
	c.LastTransitionTime = in.Now.DeepCopy()
	if before := in.Subscription.Status.GetCondition(c.Type); before.Status == c.Status && before.LastTransitionTime != nil {
		c.LastTransitionTime = before.LastTransitionTime
	}
	status.Conditions = slices.DeleteFunc(status.Conditions, func(other v1alpha1.SubscriptionCondition) bool { return other.Type == c.Type })
	status.Conditions = append(status.Conditions, c)
}

// inputs translates OLM's status into inputs of the status functions. OLM's installedCSV may not run, so the running
// CSV takes its place.
func (in Inputs) inputs() subscriptionstatus.Inputs {
	sub := in.Subscription.DeepCopy()
	sub.Status.InstalledCSV = in.running()
	out := subscriptionstatus.Inputs{
		Subscription: sub,
		Resolution:   in.resolution(),
		Plan:         in.plan(),
		Installed:    in.CSVs[sub.Status.InstalledCSV],
		Current:      in.CSVs[sub.Status.CurrentCSV],
		Gate:         in.gate(),
		Now:          in.Now,
	}
	if in.CatalogSource != nil {
		out.CatalogSources = []subscriptionstatus.CatalogSource{in.catalogSource()}
	}
	return out
}

// plan returns the InstallPlan for the status functions. If operator-status approves it or a later one, it does not
// count as waiting for a user.
func (in Inputs) plan() *olm.InstallPlan {
	if in.Plan == nil || len(in.Verdict.Missing) > 0 || !in.Verdict.Ours && !in.Subscription.IsGated() {
		return in.Plan
	}
	out := in.Plan.DeepCopy()
	out.Spec.Approval = olm.ApprovalAutomatic
	return out
}

// gate returns the decision about the update of the Subscription, before or after its approval.
func (in Inputs) gate() gate.Decision {
	switch {
	case in.Denied:
		return in.HeldByPolicy
	case in.Verdict.Ours, in.ApprovalDenied:
		return in.Verdict.Gate
	default:
		return in.HeldByOLM
	}
}

// running returns the name of the running CSV, or of the installed one if that was deleted. It is empty for a first
// install.
func (in Inputs) running() string {
	installed := in.Subscription.Status.InstalledCSV
	switch csv := csvchain.Running(in.CSVs, installed); {
	case csv != nil && MayHaveRun(csv):
		return csv.Name
	case csv == nil:
		return installed
	default:
		return "" // it never ran
	}
}

// resolution returns the result of OLM's resolver. The newest known version is the one it resolved last. While it
// fails, the newest is unknown.
func (in Inputs) resolution() *subscriptionstatus.Resolution {
	failed := in.Subscription.Status.GetCondition(v1alpha1.SubscriptionResolutionFailed)
	switch {
	case Updating(in.Subscription, failed, in.CSVs):
		return &subscriptionstatus.Resolution{Newest: in.Subscription.Status.CurrentCSV}
	case failed.Status == corev1.ConditionTrue:
		return &subscriptionstatus.Resolution{Problem: &subscriptionstatus.Problem{Reason: in.reasonOf(failed), Message: failed.Message}}
	case in.DeniedUpdate != "":
		return &subscriptionstatus.Resolution{Newest: in.DeniedUpdate, Next: in.DeniedUpdate}
	case in.Denied:
		return &subscriptionstatus.Resolution{Newest: in.Subscription.Status.CurrentCSV}
	case in.Subscription.Status.CurrentCSV == "":
		return nil
	case in.isTrue(olm.SubscriptionBundleUnpackFailed):
		c := in.Subscription.Status.GetCondition(v1alpha1.SubscriptionConditionType(olm.SubscriptionBundleUnpackFailed))
		return &subscriptionstatus.Resolution{Problem: &subscriptionstatus.Problem{Reason: v1alpha1.ReasonBundleInvalid, Message: c.Message}}
	case in.isTrue(olm.SubscriptionBundleUnpacking):
		return &subscriptionstatus.Resolution{Note: "OLM is unpacking the next bundle"}
	}
	return &subscriptionstatus.Resolution{Newest: in.Subscription.Status.CurrentCSV}
}

func (in Inputs) isTrue(t olm.SubscriptionConditionType) bool {
	return in.Subscription.Status.GetCondition(v1alpha1.SubscriptionConditionType(t)).Status == corev1.ConditionTrue
}

// reasonOf returns why OLM cannot resolve this Subscription. OLM sets the same message on all Subscriptions of a
// namespace: this one is at fault if the message names it.
func (in Inputs) reasonOf(failed v1alpha1.SubscriptionCondition) string {
	if in.Subscription.Spec == nil {
		return failed.Reason
	}
	spec := in.Subscription.Spec
	by := "in the catalog referenced by subscription " + in.Subscription.Name
	switch {
	case containsPhrase(failed.Message, fmt.Sprintf("no operators found from catalog %s in namespace %s referenced by subscription %s",
		spec.CatalogSource, spec.CatalogSourceNamespace, in.Subscription.Name)):
		return v1alpha1.ReasonCatalogSourceUnreadable
	case containsPhrase(failed.Message, fmt.Sprintf("no operators found in package %s %s", spec.Package, by)):
		return v1alpha1.ReasonPackageNotFound
	case containsPhrase(failed.Message, fmt.Sprintf("no operators found in channel %s of package %s %s", spec.Channel, spec.Package, by)):
		return v1alpha1.ReasonChannelNotFound
	case containsPhrase(failed.Message, fmt.Sprintf("no operators found with name %s in channel %s of package %s %s", spec.StartingCSV, spec.Channel, spec.Package,
		by)):
		return v1alpha1.ReasonCSVNotInChannel
	case in.Subscription.Status.CurrentCSV == "" && !containsPhrase(failed.Message, "subscription "+in.Subscription.Name):
		return v1alpha1.ReasonNewestNotKnown // the message is not about this one
	}
	return failed.Reason
}

// containsPhrase reports whether a message contains a phrase, and not merely as the beginning of a longer name.
func containsPhrase(message, phrase string) bool {
	for rest := message; ; {
		_, after, found := strings.Cut(rest, phrase)
		if !found {
			return false
		}
		if after == "" || strings.ContainsRune(", ;]\n", rune(after[0])) {
			return true
		}
		rest = after
	}
}

// catalogSource translates the health of a catalog. A catalog from which OLM has resolved something has been read.
func (in Inputs) catalogSource() subscriptionstatus.CatalogSource {
	out := subscriptionstatus.CatalogSource{CatalogSource: *in.CatalogSource.DeepCopy()}
	healthy := CatalogHealth(in.CatalogSource)
	out.Read = healthy.Status == metav1.ConditionTrue || in.Subscription.Status.CurrentCSV != ""
	out.Status.Conditions = []metav1.Condition{healthy}
	return out
}

// CatalogHealth returns the condition Healthy of a CatalogSource that OLM reads. It has no transition time.
func CatalogHealth(source *olm.CatalogSource) metav1.Condition {
	out := metav1.Condition{Type: v1alpha1.ConditionHealthy, Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonConnecting}
	if c := source.Status.GRPCConnectionState; c != nil {
		switch c.LastObservedState {
		case connectivity.Ready.String():
			out.Status, out.Reason = metav1.ConditionTrue, v1alpha1.ReasonCatalogRead
		case connectivity.TransientFailure.String(), connectivity.Shutdown.String():
			out.Status, out.Reason = metav1.ConditionFalse, v1alpha1.ReasonUnreachable
			out.Message = "OLM's connection to " + cmp.Or(c.Address, "it") + " is " + c.LastObservedState
		}
	}
	return out
}

// upToDate returns the condition for `status.UpToDate`, a field that OLM's schema does not have.
func (in Inputs) upToDate(status v1alpha1.SubscriptionStatus) v1alpha1.SubscriptionCondition {
	out := v1alpha1.SubscriptionCondition{Type: v1alpha1.SubscriptionUpToDate, Status: corev1.ConditionFalse, Message: status.Message}
	held := status.GetCondition(v1alpha1.SubscriptionUpgradeHeld)
	r, current := in.resolution(), in.CSVs[status.CurrentCSV]
	runs := current != nil && current.Status.Phase == olm.CSVPhaseSucceeded
	outdated := OutdatedFailure(in.Subscription, in.CSVs)
	denied := in.Denied && in.HeldByPolicy.Held && (in.DeniedUpdate != "" || in.running() == "")
	switch {
	case in.DeniedUpdate != "":
		out.Reason = v1alpha1.ReasonNewestDoesNotRun
	case r == nil || runs || r.Newest == "" && status.CurrentCSV == status.InstalledCSV:
		out.Reason = v1alpha1.ReasonNewestNotKnown
	default:
		out.Reason = v1alpha1.ReasonNewestDoesNotRun
	}
	switch {
	case status.UpToDate:
		out.Status, out.Reason = corev1.ConditionTrue, v1alpha1.ReasonNewestRuns
		out.Message = status.InstalledCSV + " is the newest that OLM knows of, and runs"
	case held.Status == corev1.ConditionTrue:
		out.Message = held.Message
	case in.Verdict.Ours && in.Verdict.Gate.Held:
		out.Message = fmt.Sprintf("InstallPlan %s/%s also installs other operators, and OLM applies it only as a whole: %s",
			in.Plan.Namespace, in.Plan.Name, in.Verdict.Gate.Message)
	case denied:
		out.Message = fmt.Sprintf("OLM installs and updates all operators of namespace %s with one InstallPlan, and cannot create it: %s",
			in.Subscription.Namespace, in.HeldByPolicy.Message)
	case outdated != "":
		out.Message = fmt.Sprintf("Waiting for OLM to resolve it again: the last resolution failed because of ClusterServiceVersion %s, "+
			"which has since been deleted", outdated)
	case r == nil && status.GetCondition(v1alpha1.SubscriptionCatalogSourceInvalid).Status == corev1.ConditionFalse:
		out.Message = "Waiting for OLM to resolve it"
	}
	return out
}

// existed matches each ClusterServiceVersion that no Subscription refers to, in a message of OLM's resolver.
var existed = regexp.MustCompile(`clusterserviceversion (\S+) exists and is not referenced by a subscription`)

// OutdatedFailure returns a ClusterServiceVersion that made OLM's resolution of a namespace fail and has been deleted
// since, or "". OLM does not retry an unsatisfiable resolution, and the deletion does not trigger its resolver. If the
// versions before and after an update existed at the last resolution, ResolutionFailed outlives the update (seen with
// v0.46 until its resync, which is after 15 minutes). Any change of a Subscription triggers the resolver, such as a
// change of our message about it.
func OutdatedFailure(sub *v1alpha1.Subscription, csvs map[string]*v1alpha1.ClusterServiceVersion) string {
	failed := sub.Status.GetCondition(v1alpha1.SubscriptionResolutionFailed)
	if failed.Status != corev1.ConditionTrue {
		return ""
	}
	for _, match := range existed.FindAllStringSubmatch(failed.Message, -1) {
		if name := match[1]; csvs[name] == nil {
			return name
		}
	}
	return ""
}

// Updating reports whether a condition ResolutionFailed, of a Subscription or of another in its namespace, is due to the update of the
// Subscription, which has begun and not ended.
func Updating(sub *v1alpha1.Subscription, failed v1alpha1.SubscriptionCondition, csvs map[string]*v1alpha1.ClusterServiceVersion) bool {
	current := csvs[sub.Status.CurrentCSV]
	return csvchain.IsOfUpdate(&sub.Status, failed) && current != nil && current.Status.Phase != olm.CSVPhaseSucceeded
}

// approvalMissing returns UpgradeHeld if an update needs approval by a user and no other condition reports that, or nil.
func (in Inputs) approvalMissing(status v1alpha1.SubscriptionStatus) *v1alpha1.SubscriptionCondition {
	asked := in.Subscription.IsManual() && !in.Subscription.IsGated() // InstallPlanAwaitingManualApproval reports it
	if asked || !in.Verdict.Ours || len(in.Verdict.Missing) == 0 || status.GetCondition(v1alpha1.SubscriptionUpgradeHeld).Status == corev1.ConditionTrue {
		return nil
	}
	return &v1alpha1.SubscriptionCondition{
		Type: v1alpha1.SubscriptionUpgradeHeld, Status: corev1.ConditionTrue, Reason: v1alpha1.ReasonApprovalMissing,
		Message: missing(in.Plan, in.Verdict.Missing),
	}
}

// withoutEffect returns the condition that a setting for the approval gate is without effect, or nil.
func (in Inputs) withoutEffect(status v1alpha1.SubscriptionStatus) *v1alpha1.SubscriptionCondition {
	sub := in.Subscription
	if sub.IsGated() || status.GetCondition(v1alpha1.SubscriptionUpgradeHeld).Status == corev1.ConditionTrue {
		return nil
	}
	out := &v1alpha1.SubscriptionCondition{Type: v1alpha1.SubscriptionUpgradeHeld, Status: corev1.ConditionFalse}
	switch {
	case sub.Annotations[v1alpha1.AnnotationVersion] != "":
		out.Reason = v1alpha1.ReasonVersionNeedsGate
		out.Message = fmt.Sprintf("Annotation %s has no effect unless spec.installPlanApproval is Manual and label %s is %s: OLM does not read it",
			v1alpha1.AnnotationVersion, v1alpha1.LabelGate, v1alpha1.GateApproval)
	case sub.Labels[v1alpha1.LabelGate] == v1alpha1.GateApproval:
		out.Reason = v1alpha1.ReasonGateNeedsManual
		out.Message = fmt.Sprintf("Label %s=%s has no effect unless spec.installPlanApproval is Manual: OLM approves Automatic InstallPlans itself",
			v1alpha1.LabelGate, v1alpha1.GateApproval)
	default:
		return nil
	}
	return out
}

// Changed reports whether two lists of conditions differ in ours, and whether at most in messages.
func Changed(before, after []v1alpha1.SubscriptionCondition) (differ, onlyMessages bool) {
	find := func(list []v1alpha1.SubscriptionCondition, t v1alpha1.SubscriptionConditionType) v1alpha1.SubscriptionCondition {
		return (&v1alpha1.SubscriptionStatus{Conditions: list}).GetCondition(t)
	}
	onlyMessages = true
	for _, t := range ownTypes {
		a, b := find(before, t), find(after, t)
		if a.Status != b.Status || a.Reason != b.Reason {
			return true, false
		}
		differ = differ || a.Message != b.Message
	}
	return differ, onlyMessages
}
