// Package platformoperator computes the objects that a PlatformOperator consists of, and its status.
package platformoperator

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	operatorsv1alpha1 "github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/api/platform/v1alpha1"
	"github.com/operator-status/operator-status/internal/csvchain"
	"github.com/operator-status/operator-status/internal/messages"
	"github.com/operator-status/operator-status/internal/readiness"
	"github.com/operator-status/operator-status/internal/status/condition"
	subscriptionstatus "github.com/operator-status/operator-status/internal/status/subscription"
)

// Object is the observed state of an object that a PlatformOperator consists of.
type Object struct {
	Desired

	// Live is nil if the object does not exist, or belongs to another owner.
	Live *unstructured.Unstructured

	// Problem keeps the object from being as desired. It may be nil.
	Problem *condition.Problem

	// Leaving is true if the object is no longer desired, but still exists.
	Leaving bool

	// Unwatched is true if no watch reports changes of the object.
	Unwatched bool
}

// Inputs holds everything that a PlatformOperator's status depends on, as read at one moment.
type Inputs struct {
	Operator *v1alpha1.PlatformOperator

	// Objects are the composed objects, and those no longer desired that still exist.
	Objects []Object

	// Duplicates are the other PlatformOperators for the same package, sorted.
	Duplicates []string

	// Yields is true if one of the Duplicates is older: nothing is created for this one.
	Yields bool

	// Blocked is why nothing is created or updated for it, or nil.
	Blocked *condition.Problem

	// NoOLM is true if the cluster has neither OLM nor the built-in loops of operator-status.
	NoOLM bool

	// Subscription to the package, or nil.
	Subscription *operatorsv1alpha1.Subscription

	// Observed holds the Subscriptions to observe, if managementPolicy is Observe.
	Observed Observed

	// CSVs are the ClusterServiceVersions of the Subscription's namespace, by name.
	CSVs map[string]*operatorsv1alpha1.ClusterServiceVersion

	// Probe of the running operator, or nil.
	Probe *operatorsv1alpha1.Probe

	// UpgradeHolds of the Subscription.
	UpgradeHolds []holdv1alpha1.UpgradeHold

	// DegradedInertia is how long it must not have been failing before FailingSince is cleared.
	DegradedInertia time.Duration

	Now metav1.Time
}

// Compute returns the status of a PlatformOperator, and when to compute it again although nothing has changed, or 0 for
// never. It is pure.
func Compute(in Inputs) (v1alpha1.PlatformOperatorStatus, time.Duration) {
	in.Now = in.Now.Rfc3339Copy() // the API server stores seconds
	out := in.Operator.Status.DeepCopy()
	for _, concern := range []func(Inputs, *v1alpha1.PlatformOperatorStatus){
		resources,
		namespace,
		version,
		synced,
		ready,
		installed, // after ready: it reads Ready
		progressing,
		upgradeable,
		holds,
		upToDate,
		important,
		onDeletion,
		failing, // this and relatedObjects read the results of the others
		relatedObjects,
	} {
		concern(in, out)
	}
	slices.SortStableFunc(out.Conditions, func(a, b metav1.Condition) int {
		return cmp.Compare(slices.Index(order, a.Type), slices.Index(order, b.Type))
	})
	out.ObservedGeneration = in.Operator.Generation
	again := in.quietIn(out)
	if equality.Semantic.DeepEqual(*out, in.Operator.Status) {
		return *in.Operator.Status.DeepCopy(), again
	}
	return *out, again
}

// order is that of the conditions, whichever the object had first: a new one has Ready by default.
var order = []string{
	v1alpha1.ConditionSynced, v1alpha1.ConditionReady, v1alpha1.ConditionInstalled, v1alpha1.ConditionProgressing,
	v1alpha1.ConditionUpgradeable, v1alpha1.ConditionUpToDate, v1alpha1.ConditionImportant,
}

// RetryAfter returns when to reconcile again without an event, given when an ended failure counts as over, or 0 for never.
func (in Inputs) RetryAfter(status v1alpha1.PlatformOperatorStatus, quiet time.Duration) time.Duration {
	out := quiet
	sooner := func(d time.Duration) {
		if out == 0 || d < out {
			out = d
		}
	}
	if slices.ContainsFunc(in.Objects, func(o Object) bool { return o.Unwatched }) {
		sooner(retry)
	}
	if in.Blocked != nil || slices.ContainsFunc(in.Objects, func(o Object) bool { return o.Problem != nil }) {
		sooner(BackOff(meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionSynced).LastTransitionTime, in.Now))
	}
	return out
}

// retry is the longest interval between attempts if no event reports that the problem is fixed.
const retry = 30 * time.Second

// BackOff returns when to retry. The interval grows with the time since the failure began, from one second up to retry.
func BackOff(since, now metav1.Time) time.Duration {
	return min(max(now.Sub(since.Time)/2, time.Second), retry)
}

// Deleting returns the status of a PlatformOperator that is being deleted, given the objects that still exist. It is
// no longer failing. The composed objects stay in the status, where the controller finds them.
func Deleting(op *v1alpha1.PlatformOperator, left []Object, now metav1.Time) v1alpha1.PlatformOperatorStatus {
	var titles, problems []string
	for _, o := range left {
		titles = append(titles, Title(o.Object))
		if o.Problem != nil {
			problems = append(problems, o.Problem.Message)
		}
	}
	until := "deleted"
	if Releases(op) {
		until = "released"
	}
	message := fmt.Sprintf("Waiting until these are %s: %s", until, strings.Join(titles, ", "))
	return leavingBecause(op, v1alpha1.ReasonDeleting, strings.Join(append([]string{message}, problems...), ". "), now)
}

// Releases reports whether the deletion of a PlatformOperator deletes none of its objects. One that has come to observe only may still have
// some.
func Releases(op *v1alpha1.PlatformOperator) bool {
	return op.Spec.DeletionPolicy == v1alpha1.DeletionOrphan || op.Spec.ManagementPolicy == v1alpha1.ManagementObserve
}

// WaitingForUsers returns the status of a PlatformOperator whose deletion waits until users have no data. Its operator
// keeps running, and may be not upgradeable.
func WaitingForUsers(in Inputs, message string) v1alpha1.PlatformOperatorStatus {
	out := leavingBecause(in.Operator, v1alpha1.ReasonUsersData, message, in.Now)
	in.Now = in.Now.Rfc3339Copy()
	upgradeable(in, &out)
	holds(in, &out)
	important(in, &out)
	if in.Subscription != nil { // otherwise the last ones are the record of its CSVs
		version(in, &out)
		relatedObjects(in, &out)
	}
	return out
}

func leavingBecause(op *v1alpha1.PlatformOperator, reason, message string, now metav1.Time) v1alpha1.PlatformOperatorStatus {
	in := Inputs{Operator: op, Now: now.Rfc3339Copy()}
	out := op.Status.DeepCopy()
	for _, t := range []string{v1alpha1.ConditionSynced, v1alpha1.ConditionReady} {
		set(in, out, metav1.Condition{Type: t, Status: metav1.ConditionFalse, Reason: reason, Message: message})
	}
	out.ObservedGeneration = op.Generation
	out.FailingSince, out.QuietSince, out.FailingReason, out.FailingMessage = nil, nil, "", ""
	return *out
}

// set sets a condition. Its lastTransitionTime changes only with its status.
func set(in Inputs, out *v1alpha1.PlatformOperatorStatus, c metav1.Condition) {
	c.ObservedGeneration, c.LastTransitionTime = in.Operator.Generation, in.Now
	c.Message = messages.Clip(cmp.Or(messages.Line(c.Message), fmt.Sprintf("%s is %s, without a message", c.Type, c.Status)), maxMessage)
	meta.SetStatusCondition(&out.Conditions, c)
}

// maxMessage limits a message, in bytes. The API server accepts 32 KiB.
const maxMessage = 4096

// namespace sets the namespace of the Subscription. It is kept while an observed one is missing.
func namespace(in Inputs, out *v1alpha1.PlatformOperatorStatus) {
	switch {
	case in.Subscription != nil:
		out.Namespace = in.Subscription.Namespace
	case !in.Observes():
		out.Namespace = ""
	}
}

// version sets the version of the operator that is running.
func version(in Inputs, out *v1alpha1.PlatformOperatorStatus) {
	out.Version = ""
	if csv := in.Running(); csv != nil {
		out.Version = csv.Spec.Version.String()
	}
}

// onDeletion sets OnDeletion: the effect of deleting the PlatformOperator.
func onDeletion(in Inputs, out *v1alpha1.PlatformOperatorStatus) {
	switch {
	case in.Observes():
		out.OnDeletion = "Nothing is deleted, since managementPolicy is Observe"
		return
	case in.Operator.Spec.DeletionPolicy == v1alpha1.DeletionOrphan:
		out.OnDeletion = "Nothing is deleted, since deletionPolicy is Orphan: the operator keeps running and is no longer managed"
		return
	}
	does, waits := "Uninstalls the operator", []string{}
	if running := in.Running(); running != nil {
		does = "Uninstalls " + running.Name
		for _, owned := range running.Spec.CustomResourceDefinitions.Owned {
			waits = append(waits, owned.Name)
		}
		slices.Sort(waits)
	}
	until := ""
	if len(waits) > 0 {
		until = "custom resources of " + messages.List(waits, 5, ", ")
	}
	if slices.ContainsFunc(in.Objects, func(o Object) bool { return o.Entry == EntryNamespace && o.Live != nil }) {
		namespace := in.Operator.GetNamespaceToInstallIn()
		does += " and deletes namespace " + namespace
		until = strings.TrimPrefix(until+", or volume claims, workloads, Secrets or ConfigMaps of users in namespace "+namespace, ", or ")
	}
	out.OnDeletion = does
	if until != "" {
		out.OnDeletion += ", once there are no " + until
	}
}

// synced sets Synced: whether every object is as the spec desires.
func synced(in Inputs, out *v1alpha1.PlatformOperatorStatus) {
	c := metav1.Condition{
		Type: v1alpha1.ConditionSynced, Status: metav1.ConditionTrue,
		Reason: v1alpha1.ReasonSynced, Message: "Every object exists as declared",
	}
	if in.Observes() {
		c.Reason, c.Message = v1alpha1.ReasonObserveOnly, "Nothing is created or changed, since managementPolicy is Observe"
	}
	if problem := in.unsynced(); problem != nil {
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, problem.Reason, problem.Message
	}
	set(in, out, c)
}

// unsynced returns the problem that keeps the objects from being as desired, or nil.
func (in Inputs) unsynced() *condition.Problem {
	if len(in.Duplicates) > 0 {
		return in.duplicate()
	}
	if in.Blocked != nil {
		return in.Blocked
	}
	var found *condition.Problem
	var messages []string
	for _, o := range in.Objects {
		if o.Problem == nil {
			continue
		}
		messages = append(messages, o.Problem.Message)
		if found == nil || found.Reason == v1alpha1.ReasonKindNotFound { // the kind may just not be installed yet
			found = &condition.Problem{Reason: o.Problem.Reason}
		}
	}
	if found != nil {
		found.Message = strings.Join(messages, "; ")
	}
	return found
}

// duplicate returns a Problem that names the other PlatformOperators for the package.
func (in Inputs) duplicate() *condition.Problem {
	message := fmt.Sprintf("Package %s is also installed by PlatformOperator %s: delete all but one. ",
		in.Operator.Spec.Package.Name, strings.Join(in.Duplicates, ", "))
	if in.Yields {
		message += "This one is newer and is ignored"
	} else {
		message += "This one is the oldest and stays active"
	}
	return &condition.Problem{Reason: v1alpha1.ReasonDuplicatePackage, Message: message}
}

// installed sets Installed: it becomes True when everything is Ready for the first time, and stays True for as long as
// a CSV that has run exists.
func installed(in Inputs, out *v1alpha1.PlatformOperatorStatus) {
	c := metav1.Condition{Type: v1alpha1.ConditionInstalled, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonInstalling}
	running, problem := in.Running(), in.problem()
	was := meta.IsStatusConditionTrue(in.Operator.Status.Conditions, v1alpha1.ConditionInstalled)
	switch {
	case running != nil && (was || meta.IsStatusConditionTrue(out.Conditions, v1alpha1.ConditionReady)):
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, v1alpha1.ReasonInstalled, running.Name+" is installed"
	case problem != nil:
		c.Reason, c.Message = problem.Reason, problem.Message
	case running == nil:
		c.Message = in.waitingFor()
	default:
		c.Message = meta.FindStatusCondition(out.Conditions, v1alpha1.ConditionReady).Message
	}
	set(in, out, c)
}

// progressing sets Progressing: whether the operator is being installed or updated.
func progressing(in Inputs, out *v1alpha1.PlatformOperatorStatus) {
	c := metav1.Condition{
		Type: v1alpha1.ConditionProgressing, Status: metav1.ConditionFalse,
		Reason: v1alpha1.ReasonAsDesired, Message: "Nothing is being installed or updated",
	}
	switch wait := in.wait(); {
	case !meta.IsStatusConditionTrue(out.Conditions, v1alpha1.ConditionInstalled):
		c.Status, c.Reason = metav1.ConditionTrue, v1alpha1.ReasonInstalling
		c.Message = meta.FindStatusCondition(out.Conditions, v1alpha1.ConditionInstalled).Message
	case wait != nil:
		c.Reason, c.Message = v1alpha1.ReasonUpdateHeld, wait.Message
	case in.updating():
		c.Status, c.Reason = metav1.ConditionTrue, v1alpha1.ReasonUpdating
		c.Message = fmt.Sprintf("%s is being updated to %s: %s", in.Running().Name, in.Subscription.Status.CurrentCSV, in.waitingFor())
	case in.unresolved() != "":
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, v1alpha1.ReasonUpdating, in.unresolved()
	}
	set(in, out, c)
}

// upgradeable sets Upgradeable to that of the operator's Probe, or to False if an update is held for another reason. It
// is kept while an observed Subscription is missing: its deletion must not end a hold of the cluster's updates.
func upgradeable(in Inputs, out *v1alpha1.PlatformOperatorStatus) {
	c := in.mirrored(v1alpha1.ConditionUpgradeable, metav1.ConditionTrue)
	if last := meta.FindStatusCondition(out.Conditions, c.Type); last != nil && in.lost(out) {
		c = *last
	}
	if held, ok := in.held(); ok && c.Status != metav1.ConditionFalse {
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, readiness.ValidReason(held.Reason, string(held.Type)), held.Message
	}
	set(in, out, c)
}

// lost reports whether an observed Subscription is missing.
func (in Inputs) lost(out *v1alpha1.PlatformOperatorStatus) bool {
	return in.Observes() && in.Subscription == nil && out.Namespace != ""
}

// held returns the Subscription's condition that its update is held, and whether it is: not only until another Subscription's is approved.
func (in Inputs) held() (operatorsv1alpha1.SubscriptionCondition, bool) {
	if in.Subscription == nil {
		return operatorsv1alpha1.SubscriptionCondition{}, false
	}
	c := in.Subscription.Status.GetCondition(operatorsv1alpha1.SubscriptionUpgradeHeld)
	return c, c.Status == "True" && c.Reason != operatorsv1alpha1.ReasonApprovalMissing
}

// important sets Important: whether the operator's Probe reports something that a cluster admin should see.
func important(in Inputs, out *v1alpha1.PlatformOperatorStatus) {
	set(in, out, in.mirrored(v1alpha1.ConditionImportant, metav1.ConditionFalse))
}

// mirrored returns a condition of the Probe: Unknown until it is set, and otherwise if the operator has no Probe.
func (in Inputs) mirrored(t string, otherwise metav1.ConditionStatus) metav1.Condition {
	if in.Probe != nil {
		if c := meta.FindStatusCondition(in.Probe.Status.Conditions, t); c != nil {
			return metav1.Condition{Type: t, Status: c.Status, Reason: readiness.ValidReason(c.Reason, t), Message: c.Message}
		}
		return metav1.Condition{
			Type: t, Status: metav1.ConditionUnknown, Reason: operatorsv1alpha1.ReasonNotRead,
			Message: fmt.Sprintf("Probe %s/%s does not report it yet", in.Probe.Namespace, in.Probe.Name),
		}
	}
	return metav1.Condition{Type: t, Status: otherwise, Reason: v1alpha1.ReasonNoProbe, Message: "The operator has no Probe, so this is not known"}
}

// upToDate sets UpToDate: whether the newest version is installed and runs.
func upToDate(in Inputs, out *v1alpha1.PlatformOperatorStatus) {
	c := metav1.Condition{Type: v1alpha1.ConditionUpToDate, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonSubscriptionNotFound}
	if in.Subscription == nil {
		c.Message = in.waitingFor()
		set(in, out, c)
		return
	}
	upToDate := subscriptionstatus.UpToDateOf(&in.Subscription.Status)
	c.Status, c.Reason, c.Message = metav1.ConditionStatus(upToDate.Status), readiness.ValidReason(upToDate.Reason, string(upToDate.Type)), upToDate.Message
	if c.Message == "" {
		c.Message = in.waitingFor()
	}
	if c.Status == metav1.ConditionTrue && in.unresolved() != "" {
		c.Status, c.Reason, c.Message = metav1.ConditionUnknown, v1alpha1.ReasonUpdating, in.unresolved()
	}
	set(in, out, c)
}

// unresolved returns why it is not known yet whether the Subscription has a newer version, or "". Its status may be of an earlier spec:
// the built-in loops record of which one, and of OLM it is known of the one that was just applied.
func (in Inputs) unresolved() string {
	sub := in.Subscription
	if sub == nil {
		return ""
	}
	observed := cmp.Or(sub.Status.ObservedGeneration, sub.Generation)
	changed := observed < sub.Generation || slices.ContainsFunc(in.Objects, func(o Object) bool {
		return o.Entry == EntrySubscription && o.Live != nil && o.Live.GetUID() == sub.UID && observed < o.Live.GetGeneration()
	})
	if changed {
		return fmt.Sprintf("Waiting for Subscription %s/%s to be resolved since its last change", sub.Namespace, sub.Name)
	}
	const unpacking = operatorsv1alpha1.SubscriptionConditionType(olm.SubscriptionBundleUnpacking)
	if sub.Status.GetCondition(unpacking).Status == corev1.ConditionTrue {
		return "OLM is unpacking a bundle in namespace " + sub.Namespace // it reports that on all Subscriptions of the namespace
	}
	return ""
}

// Observes reports whether nothing may be created or changed.
func (in Inputs) Observes() bool {
	return in.Operator.Spec.ManagementPolicy == v1alpha1.ManagementObserve
}

// Running returns the CSV that has run, or nil. It still serves while a newer one is being installed.
func (in Inputs) Running() *operatorsv1alpha1.ClusterServiceVersion {
	if in.Subscription == nil {
		return nil
	}
	csv := csvchain.Running(in.CSVs, in.Subscription.Status.InstalledCSV)
	if csv == nil || !csvchain.Ran(csv) {
		return nil
	}
	return csv
}

// replaced reports whether a newer CSV is to replace the running one.
func (in Inputs) replaced() bool {
	running := in.Running()
	return running != nil && in.Subscription.Status.CurrentCSV != "" && in.Subscription.Status.CurrentCSV != running.Name
}

// updating reports whether an update is in progress, and not held.
func (in Inputs) updating() bool { return in.replaced() && in.wait() == nil }

// problem returns the problem of the PlatformOperator, or nil.
func (in Inputs) problem() *condition.Problem {
	for _, o := range in.Objects {
		if o.Problem != nil && !in.early(o) {
			return o.Problem
		}
	}
	return in.operatorProblem()
}

// early reports whether an object lacks a kind or a service account that the operator's installation may still create.
func (in Inputs) early(o Object) bool {
	missingDependency := o.Problem.Reason == v1alpha1.ReasonKindNotFound || o.Problem.Reason == v1alpha1.ReasonServiceAccountMissing
	return missingDependency && in.Running() == nil
}

// operatorProblem returns the problem of the operator itself, or nil.
func (in Inputs) operatorProblem() *condition.Problem {
	switch {
	case in.Yields:
		return in.duplicate()
	case in.Blocked != nil:
		return in.Blocked
	case in.NoOLM:
		return &condition.Problem{Reason: v1alpha1.ReasonOLMNotFound,
			Message: "The cluster does not serve Subscriptions: install OLM, or the built-in loops of operator-status (crds-lifecycle.yaml and install-lifecycle.yaml of the release)"}
	case in.Observes() && in.Subscription == nil:
		return in.unobserved()
	case in.modesUnsupported():
		return &condition.Problem{Reason: v1alpha1.ReasonInstallModesUnsupported, Message: fmt.Sprintf(
			"The operator supports neither install mode AllNamespaces nor OwnNamespace: create an OperatorGroup in namespace %s that fits its install modes, "+
				"and name the namespace in spec.namespace", in.Operator.GetNamespaceToInstallIn())}
	case in.Subscription == nil:
		return nil
	}
	if p := subscriptionstatus.ProblemOf(&in.Subscription.Status); p != nil {
		return &condition.Problem{Reason: readiness.ValidReason(p.Reason, v1alpha1.ReasonFailed), Message: p.Message}
	}
	return nil
}

// modesUnsupported reports whether the operator does not run because no OperatorGroup that is composed can fit it.
func (in Inputs) modesUnsupported() bool {
	if in.Subscription == nil || in.Observes() {
		return false
	}
	csv := in.CSVs[in.Subscription.Status.CurrentCSV]
	return csv != nil && csv.Status.Reason == olm.CSVReasonUnsupportedOperatorGroup &&
		!supports(csv.Spec.InstallModes, olm.InstallModeTypeAllNamespaces) && !supports(csv.Spec.InstallModes, olm.InstallModeTypeOwnNamespace)
}

// wait returns why the operator waits although nothing is wrong with it, or nil.
func (in Inputs) wait() *condition.Problem {
	if in.Subscription == nil {
		return nil
	}
	return subscriptionstatus.WaitOf(&in.Subscription.Status)
}

// waitingFor returns a message about the next step of an installation or update.
func (in Inputs) waitingFor() string {
	sub := in.Subscription
	if sub == nil {
		return "Waiting for a Subscription to package " + in.Operator.Spec.Package.Name
	}
	if wait := in.wait(); wait != nil {
		return wait.Message
	}
	if csv := in.CSVs[sub.Status.CurrentCSV]; csv != nil && csv.Status.Phase != olm.CSVPhaseSucceeded {
		return subscriptionstatus.PhaseMessage(csv)
	}
	if upToDate := subscriptionstatus.UpToDateOf(&sub.Status); upToDate.Status != "True" && upToDate.Message != "" {
		return upToDate.Message
	}
	return fmt.Sprintf("Waiting for Subscription %s/%s to be resolved", sub.Namespace, sub.Name)
}

// InstallModes returns the install modes of the newest CSV that exists, or nil.
func (in Inputs) InstallModes() []olm.InstallMode {
	if in.Subscription == nil {
		return nil
	}
	for _, name := range []string{in.Subscription.Status.CurrentCSV, in.Subscription.Status.InstalledCSV} {
		if csv := in.CSVs[name]; csv != nil {
			return csv.Spec.InstallModes
		}
	}
	return nil
}
