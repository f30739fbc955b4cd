// Package probe computes the status of a Probe from the conditions of custom resources.
package probe

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/observed"
	"github.com/operator-status/operator-status/internal/status/condition"
)

// Inputs holds everything that a Probe's status depends on, as read at one moment.
type Inputs struct {
	Probe     *v1alpha1.Probe
	Resources []Resource          // one for each of spec.probeResources
	Problems  []condition.Problem // with the annotations behind the spec, and with namespaces

	// Outdated is true if the annotations have changed and the spec has not been updated yet.
	Outdated bool

	// OperatorNotFound is the message that the operator of the Probe does not exist, or is of another version. It is empty
	// otherwise.
	OperatorNotFound string

	// AnnotationsDiffer is the message that the operator declared other annotations than its CustomResourceDefinitions have,
	// or empty.
	AnnotationsDiffer string

	// GateConflict is the message that the operator sets its OperatorCondition itself, or empty.
	GateConflict string

	// Version stands for the running version of the operator, if the Probe is about any version.
	Version string

	// Held are the updates that wait for the Probe.
	Held []Held

	// HideForeign hides the names of custom resources outside the Probe's namespace, cluster-scoped ones included: the
	// status only counts them.
	HideForeign bool

	// Pod reports on the pod that reads the custom resources. It is nil unless isolation is Pod.
	Pod *Pod

	// Reader identifies the process that reads the custom resources. Targets is a hash of the namespaces that it reads.
	Reader, Targets string

	// Restarted is true for the first status of a process whose Reader may be that of the one before it.
	Restarted bool

	Now metav1.Time
}

// Resource holds the state of a resource that a Probe names.
type Resource struct {
	Expressions

	CRD  string // the name of its CustomResourceDefinition
	Kind string

	// Absent is true if no custom resources can exist: the resource is not served, or none of its namespaces exists.
	Absent bool

	// Problems prevent the resource from being read or understood, or report that it is absent.
	Problems []condition.Problem

	// Read has an entry for each namespace, or one for all of them. It is empty without an identity to read with.
	Read []Read
}

// Read holds the result of reading a resource in one namespace, or in all if Namespace is empty.
type Read struct {
	Namespace string
	observed.Snapshot
}

// errForbidden stands for the error of a resource that its service account is not permitted to read.
var errForbidden = apierrors.NewForbidden(schema.GroupResource{}, "", nil)

// forbidden returns errForbidden if the service account is not permitted to read the resource, otherwise nil.
func (r Resource) forbidden() error {
	if slices.ContainsFunc(r.Problems, func(p condition.Problem) bool { return p.Reason == v1alpha1.ReasonForbidden }) {
		return errForbidden
	}
	return nil
}

// unread reports whether some custom resources are unknown because they cannot be read or have not been read yet.
func (r Resource) unread() bool {
	if r.Absent {
		return false
	}
	return len(r.Read) == 0 || slices.ContainsFunc(r.Read, func(s Read) bool { return !s.Filled })
}

// Pod reports on the pod that reads the custom resources of a Probe. Its Problem is nil while it is ready.
type Pod struct {
	Account string
	Problem *condition.Problem
}

// concern computes a part of the status.
type concern func(Inputs, findings, *v1alpha1.ProbeStatus)

// ofReader are computed by the process that reads the custom resources, and ofManager by the manager. They differ if
// isolation is Pod.
var (
	ofReader  = []concern{probeResources, upgradeable, important, synced, readBy} // readBy last: settle compares the Reader
	ofManager = []concern{podReady, gateConflict, annotationsDiffer, holding}     // holding last: it reads Upgradeable
)

// Compute returns the status of a Probe. It is pure: it depends only on in, and changes nothing.
func Compute(in Inputs) v1alpha1.ProbeStatus {
	return compute(in, in.Probe.Generation, slices.Concat(ofReader, ofManager))
}

// ComputeRead returns the status with the part of the reader. It leaves everything else as it is.
func ComputeRead(in Inputs) v1alpha1.ProbeStatus {
	return compute(in, in.Probe.Generation, ofReader)
}

// ComputeManaged returns the status with the part of the manager. It leaves everything else as it is.
func ComputeManaged(in Inputs) v1alpha1.ProbeStatus {
	return compute(in, in.Probe.Status.ObservedGeneration, ofManager)
}

func compute(in Inputs, observed int64, concerns []concern) v1alpha1.ProbeStatus {
	out := in.Probe.Status.DeepCopy()
	out.ObservedGeneration = observed
	f := gather(in)
	for _, c := range concerns {
		c(in, f, out)
	}
	return *out
}

func set(in Inputs, out *v1alpha1.ProbeStatus, c metav1.Condition) {
	c.LastTransitionTime = in.Now
	c.ObservedGeneration = in.Probe.Generation
	meta.SetStatusCondition(&out.Conditions, c)
}

// findings combines the state of all resources of a Probe.
type findings struct {
	listed  []finding
	summary v1alpha1.ProbeSummary

	// unread is true if some custom resources are unknown, and allUnread if all are. For unknown custom resources, the
	// findings of the previous status remain, if it has any.
	unread, allUnread bool

	// stale is true if some custom resources may have changed since they were read. uncertain is true then, and if some are unread, or
	// cannot be read any longer.
	stale, uncertain bool

	// unnamed is true if custom resources are counted whose names must not be shown. carried holds the indexes of the
	// items of the previous status that were carried over.
	unnamed bool
	carried map[int]bool
}

// finding is an item of the status, with its texts for messages.
type finding struct {
	v1alpha1.ProbeResourceStatus
	blocks, important, unreadable string
}

// gather combines the resources. For an unknown resource it carries over the findings of the previous status.
func gather(in Inputs) findings {
	out := findings{allUnread: len(in.Resources) > 0, carried: map[int]bool{}}
	for _, r := range in.Resources {
		out.unread, out.uncertain = out.unread || r.unread(), out.uncertain || r.unread()
		if len(r.Read) == 0 && !r.Absent {
			out.carry(in, r, Read{Snapshot: observed.Snapshot{Err: r.forbidden()}})
			continue
		}
		out.allUnread = out.allUnread && !r.Absent
		for _, s := range r.Read {
			out.stale, out.uncertain = out.stale || s.Stale, out.uncertain || s.Stale || s.Err != nil
			if s.Filled {
				out.allUnread = false
				out.add(in, r, s)
			} else {
				out.carry(in, r, s)
			}
		}
	}
	if summary := in.Probe.Status.Summary; summary != nil && out.allUnread {
		out.summary = *summary
	}
	slices.SortStableFunc(out.listed, compareFindings)
	if cut := len(out.listed) - v1alpha1.MaxStatusProbeResources; cut > 0 {
		for _, omitted := range out.listed[v1alpha1.MaxStatusProbeResources:] {
			out.summary.Omitted += max(1, omitted.Count)
		}
		out.listed = out.listed[:v1alpha1.MaxStatusProbeResources]
	}
	return out
}

// mayName reports whether the status may name custom resources of a namespace, given the last error of reading them.
func (in Inputs) mayName(namespace string, err error) bool {
	return !apierrors.IsForbidden(err) && (!in.HideForeign || namespace == in.Probe.Namespace)
}

// add adds the result of reading a resource.
func (f *findings) add(in Inputs, r Resource, s Read) {
	f.summary.Total += int32(s.Total)
	f.summary.NotUpgradeable += int32(s.Blocking)
	f.summary.Important += int32(s.Important)
	f.summary.Unknown += int32(s.Unknown)
	f.summary.Unreadable += int32(s.Unreadable)
	blocking, others, unnamed := s.Blocking, len(s.Items)+s.Omitted-s.Blocking, false
	for _, item := range s.Items {
		if !in.mayName(item.Namespace, s.Err) {
			unnamed = true
			continue
		}
		if item.Blocks != "" {
			blocking--
		} else {
			others--
		}
		f.listed = append(f.listed, finding{
			ProbeResourceStatus: v1alpha1.ProbeResourceStatus{
				Resource: r.CRD, Kind: r.Kind, Namespace: item.Namespace, Name: item.Name,
				Blocking: item.Blocks != "", Unreadable: item.Unreadable != "", Reasons: item.Reasons,
			},
			blocks:     item.Blocks,
			important:  item.Important,
			unreadable: item.Unreadable,
		})
	}
	if !unnamed {
		f.summary.Omitted += int32(s.Omitted)
		return
	}
	count := v1alpha1.ProbeResourceStatus{Resource: r.CRD, Kind: r.Kind, Namespace: s.Namespace}
	f.addUnnamed(count, true, int32(blocking))
	f.addUnnamed(count, false, int32(others))
}

// addUnnamed counts n more custom resources without naming them.
func (f *findings) addUnnamed(item v1alpha1.ProbeResourceStatus, blocking bool, n int32) {
	if n <= 0 {
		return
	}
	f.unnamed = true
	item = v1alpha1.ProbeResourceStatus{Resource: item.Resource, Kind: item.Kind, Namespace: item.Namespace, Blocking: blocking}
	for i := range f.listed {
		same := f.listed[i].ProbeResourceStatus
		same.Count = 0
		if f.listed[i].Count > 0 && equality.Semantic.DeepEqual(same, item) {
			f.listed[i].Count += n
			return
		}
	}
	item.Count = n
	f.listed = append(f.listed, finding{ProbeResourceStatus: item})
}

// carry copies the items of a resource, in one namespace or all, from the previous status. An item that counts custom
// resources of all namespaces matches any namespace.
func (f *findings) carry(in Inputs, r Resource, s Read) {
	for i, item := range in.Probe.Status.ProbeResources {
		inNamespace := s.Namespace == "" || item.Namespace == s.Namespace || item.Count > 0 && item.Namespace == ""
		if item.Resource != r.CRD || !inNamespace || f.carried[i] {
			continue
		}
		f.carried[i] = true
		n := max(1, item.Count)
		f.summary.Total += n
		switch {
		case item.Blocking:
			f.summary.NotUpgradeable += n
		case item.Unreadable:
			f.summary.Unknown += n
			f.summary.Unreadable += n
		default:
			f.summary.Important += n
		}
		if item.Count == 0 && in.mayName(item.Namespace, s.Err) {
			f.listed = append(f.listed, carriedOver(item))
			continue
		}
		if item.Count == 0 {
			item.Namespace = s.Namespace
		}
		f.addUnnamed(item, item.Blocking, n)
	}
}

// carriedOver returns the finding for an item of the previous status. Of its conditions, only the reasons are known.
func carriedOver(item v1alpha1.ProbeResourceStatus) finding {
	out := finding{ProbeResourceStatus: item}
	reasons := strings.Join(item.Reasons, ", ")
	switch {
	case item.Blocking:
		out.blocks = reasons
	case item.Unreadable:
		out.unreadable = reasons
	default:
		out.important = reasons
	}
	return out
}

func compareFindings(a, b finding) int {
	return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(min(a.Count, 1), min(b.Count, 1)),
		cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

func (f finding) rank() int {
	switch {
	case f.Blocking:
		return 0
	case f.Unreadable:
		return 2
	default:
		return 1
	}
}

// probeResources lists the findings.
func probeResources(_ Inputs, f findings, out *v1alpha1.ProbeStatus) {
	out.ProbeResources = nil
	for _, item := range f.listed {
		out.ProbeResources = append(out.ProbeResources, item.ProbeResourceStatus)
	}
	if !f.allUnread || out.Summary != nil {
		out.Summary = &f.summary
	}
}

// upgradeable sets Upgradeable: False if a custom resource blocks the update. Unknown ones do not block. A False remains
// until the custom resources have been read; a True does not.
func upgradeable(in Inputs, f findings, out *v1alpha1.ProbeStatus) {
	before := meta.FindStatusCondition(out.Conditions, v1alpha1.ConditionUpgradeable)
	if f.allUnread && before != nil && before.Status == metav1.ConditionFalse && before.Reason != v1alpha1.ReasonSettling && !f.unnamed {
		return
	}
	c := metav1.Condition{Type: v1alpha1.ConditionUpgradeable, Status: metav1.ConditionTrue}
	switch n := f.summary; {
	case n.NotUpgradeable > 0:
		c.Status, c.Reason = metav1.ConditionFalse, v1alpha1.ReasonNotUpgradeable
		c.Message = "Waiting for " + f.name(n.NotUpgradeable, func(f finding) string { return f.blocks })
	case in.OperatorNotFound != "":
		c.Status, c.Reason, c.Message = metav1.ConditionUnknown, v1alpha1.ReasonOperatorNotFound, in.OperatorNotFound
	case f.unread:
		notRead(&c)
		if out.Summary != nil {
			c.Message = "Not all custom resources have been read; Synced reports why"
		}
	case f.stale:
		c.Status, c.Reason, c.Message = metav1.ConditionUnknown, v1alpha1.ReasonStale, "The custom resources may have changed since they were read"
	case n.Total == 0:
		c.Reason, c.Message = v1alpha1.ReasonNoResources, "No custom resource exists, so nothing holds the update"
	case n.Unknown > 0:
		c.Reason, c.Message = v1alpha1.ReasonSomeUnknown, fmt.Sprintf(
			"Nothing holds the update; %d of %d custom resources cannot be judged, since their conditions are missing or Unknown", n.Unknown, n.Total)
		if n.Unreadable > 0 {
			c.Message += ", or cannot be read: " + f.name(n.Unreadable, func(f finding) string { return f.unreadable })
		}
	default:
		c.Reason, c.Message = v1alpha1.ReasonAllUpgradeable, fmt.Sprintf("None of %d custom resources holds the update", n.Total)
	}
	yield(in, f, out, &c)
	settle(in, out, &c)
	out.ObservedVersion = ""
	if spec := in.Probe.Spec; spec != nil && (spec.Settle != nil || spec.YieldAfter != nil) {
		out.ObservedVersion = in.Version
	}
	set(in, out, c)
}

// yield changes a condition that custom resources have kept False for spec.yieldAfter, in the running version. Those that cannot be read do
// not begin to yield.
func yield(in Inputs, f findings, out *v1alpha1.ProbeStatus, c *metav1.Condition) {
	spec, before := in.Probe.Spec, meta.FindStatusCondition(out.Conditions, v1alpha1.ConditionUpgradeable)
	switch {
	case spec == nil || spec.YieldAfter == nil || c.Status == metav1.ConditionTrue:
		out.BlockedSince = nil
		return
	case c.Reason != v1alpha1.ReasonNotUpgradeable: // while nothing is known, such as after a restart, the time goes on
		return
	}
	if out.BlockedSince == nil || in.Version != out.ObservedVersion {
		out.BlockedSince = new(in.Now.Rfc3339Copy())
	}
	ends := out.BlockedSince.Add(spec.YieldAfter.Duration)
	if ends.After(in.Now.Time) {
		c.Message += ". Without interruption, this holds the update until " + ends.UTC().Format(time.RFC3339)
		return
	}
	if f.uncertain && (before == nil || before.Reason != v1alpha1.ReasonYielded) {
		c.Message += ". This holds the update until all custom resources can be read; Synced reports why they cannot"
		return
	}
	c.Status, c.Reason = metav1.ConditionTrue, v1alpha1.ReasonYielded
	c.Message = fmt.Sprintf("The update is allowed after %s, although it was held since %s: %s",
		spec.YieldAfter.Duration, out.BlockedSince.UTC().Format(time.RFC3339), c.Message)
}

// settle changes a condition that allows an update until it has done so for spec.settle, in the running version. It begins anew with another
// process: the custom resources may not have been read in between.
func settle(in Inputs, out *v1alpha1.ProbeStatus, c *metav1.Condition) {
	spec := in.Probe.Spec
	if spec == nil || spec.Settle == nil {
		out.AllowedSince = nil
		return
	}
	if out.AllowedSince == nil || in.Version != out.ObservedVersion || in.Reader != out.Reader || in.Restarted {
		out.AllowedSince = new(in.Now.Rfc3339Copy())
	}
	if c.Status != metav1.ConditionTrue || c.Reason == v1alpha1.ReasonYielded {
		out.AllowedSince = nil
		return
	}
	if ends := out.AllowedSince.Add(spec.Settle.Duration); ends.After(in.Now.Time) && c.Reason != v1alpha1.ReasonNoResources {
		c.Status, c.Reason = metav1.ConditionFalse, v1alpha1.ReasonSettling
		c.Message = fmt.Sprintf("No custom resource has held the update since %s. It may begin at %s, after %s",
			out.AllowedSince.UTC().Format(time.RFC3339), ends.UTC().Format(time.RFC3339), spec.Settle.Duration)
	}
}

// AllowsIn returns in how long a Probe that settles, or yields after some time, allows the update. It is 0 if time alone does not end that.
func AllowsIn(spec *v1alpha1.ProbeSpec, status v1alpha1.ProbeStatus, now time.Time) time.Duration {
	c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionUpgradeable)
	switch {
	case c == nil || spec == nil:
		return 0
	case c.Reason == v1alpha1.ReasonSettling && spec.Settle != nil && status.AllowedSince != nil:
		return max(status.AllowedSince.Add(spec.Settle.Duration).Sub(now), 0)
	case c.Reason == v1alpha1.ReasonNotUpgradeable && spec.YieldAfter != nil && status.BlockedSince != nil:
		return max(status.BlockedSince.Add(spec.YieldAfter.Duration).Sub(now), 0)
	default:
		return 0
	}
}

// important sets Important: True if an important condition of a custom resource is.
func important(in Inputs, f findings, out *v1alpha1.ProbeStatus) {
	if f.allUnread && Known(out, v1alpha1.ConditionImportant) && !f.unnamed {
		return
	}
	c := metav1.Condition{Type: v1alpha1.ConditionImportant, Status: metav1.ConditionFalse}
	switch n := f.summary; {
	case n.Important > 0:
		c.Status, c.Reason = metav1.ConditionTrue, v1alpha1.ReasonConditionsTrue
		c.Message = f.name(n.Important, func(f finding) string { return f.important })
	case f.unread && !Known(out, c.Type):
		notRead(&c)
	default:
		c.Reason, c.Message = v1alpha1.ReasonNothingImportant, "No important condition is True"
	}
	set(in, out, c)
}

// synced sets Synced: True if all that the spec names is being read.
func synced(in Inputs, f findings, out *v1alpha1.ProbeStatus) {
	c := metav1.Condition{Type: v1alpha1.ConditionSynced, Status: metav1.ConditionTrue}
	before := meta.FindStatusCondition(out.Conditions, c.Type)
	stays := before != nil && before.Reason == v1alpha1.ReasonStale && FailsIn(*out, in.Now.Time) == 0
	switch problems := problemsOf(in); {
	case len(problems) > 0 && problems[0].Reason == v1alpha1.ReasonStale && !stays:
		c.Status, c.Reason, c.Message = metav1.ConditionUnknown, v1alpha1.ReasonStale, sentences(problems)
		if before != nil && before.Reason != c.Reason {
			meta.RemoveStatusCondition(&out.Conditions, c.Type) // it has not been stale for all the time in which it was Unknown
		}
	case len(problems) > 0:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, problems[0].Reason, sentences(problems)
	case f.unread:
		c.Status, c.Reason, c.Message = metav1.ConditionUnknown, v1alpha1.ReasonSyncing, "Reading the custom resources for the first time"
	default:
		c.Reason, c.Message = v1alpha1.ReasonSynced, "All resources of the Probe are being read"
	}
	set(in, out, c)
}

// staleFor is how long custom resources are stale before Synced is False: an overloaded API server recovers before.
const staleFor = 5 * time.Minute

// FailsIn returns in how long Synced is False if the custom resources stay stale until then, or 0 if time alone does not make it False.
func FailsIn(status v1alpha1.ProbeStatus, now time.Time) time.Duration {
	c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionSynced)
	if c == nil || c.Reason != v1alpha1.ReasonStale || c.Status == metav1.ConditionFalse {
		return 0
	}
	return max(0, c.LastTransitionTime.Add(staleFor).Sub(now))
}

// podReady sets PodReady if isolation is Pod.
func podReady(in Inputs, _ findings, out *v1alpha1.ProbeStatus) {
	switch {
	case in.Pod == nil:
		meta.RemoveStatusCondition(&out.Conditions, v1alpha1.ConditionPodReady)
	case in.Pod.Problem != nil:
		set(in, out, metav1.Condition{
			Type: v1alpha1.ConditionPodReady, Status: metav1.ConditionFalse,
			Reason: in.Pod.Problem.Reason, Message: in.Pod.Problem.Message,
		})
	default:
		set(in, out, metav1.Condition{
			Type: v1alpha1.ConditionPodReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonPodReady,
			Message: "A pod reads the custom resources as service account " + in.Pod.Account,
		})
	}
}

// gateConflict sets GateConflict if the operator's own condition takes precedence over the Probe.
func gateConflict(in Inputs, _ findings, out *v1alpha1.ProbeStatus) {
	if in.GateConflict == "" {
		meta.RemoveStatusCondition(&out.Conditions, v1alpha1.ConditionGateConflict)
		return
	}
	set(in, out, metav1.Condition{
		Type: v1alpha1.ConditionGateConflict, Status: metav1.ConditionTrue,
		Reason: v1alpha1.ReasonSetByOperator, Message: in.GateConflict,
	})
}

// annotationsDiffer sets AnnotationsDiffer if the CustomResourceDefinitions have other annotations than the operator was
// installed with.
func annotationsDiffer(in Inputs, _ findings, out *v1alpha1.ProbeStatus) {
	if in.AnnotationsDiffer == "" {
		meta.RemoveStatusCondition(&out.Conditions, v1alpha1.ConditionAnnotationsDiffer)
		return
	}
	set(in, out, metav1.Condition{
		Type: v1alpha1.ConditionAnnotationsDiffer, Status: metav1.ConditionTrue,
		Reason: v1alpha1.ReasonChangedSinceInstallation, Message: in.AnnotationsDiffer,
	})
}

// readBy records which process read the custom resources, and a hash of the namespaces, once everything has been read.
// Until then the previous values remain.
func readBy(in Inputs, f findings, out *v1alpha1.ProbeStatus) {
	if !f.unread {
		out.Reader, out.ObservedTargets = in.Reader, in.Targets
	}
}

// Known reports whether the status has that condition, True or False.
func Known(out *v1alpha1.ProbeStatus, conditionType string) bool {
	c := meta.FindStatusCondition(out.Conditions, conditionType)
	return c != nil && c.Status != metav1.ConditionUnknown
}

func notRead(c *metav1.Condition) {
	c.Status, c.Reason, c.Message = metav1.ConditionUnknown, v1alpha1.ReasonNotRead, "The custom resources have not been read yet"
}

// maxNamed is how many custom resources, or problems, a message names.
const maxNamed = 5

// name names the first maxNamed findings for which words returns a text, and counts the rest of total.
func (f findings) name(total int32, words func(finding) string) string {
	var out []string
	for _, l := range f.listed {
		if text := words(l); text != "" && len(out) < maxNamed {
			out = append(out, fmt.Sprintf("%s: %s", objectName(l.ProbeResourceStatus), text))
		}
	}
	switch more := int(total) - len(out); {
	case more <= 0:
	case !f.unnamed:
		out = append(out, fmt.Sprintf("and %d more", more))
	case len(out) > 0:
		out = append(out, fmt.Sprintf("and %d more, %s", more, v1alpha1.NotShown))
	case more == 1:
		out = append(out, "a custom resource whose name is "+v1alpha1.NotShown)
	default:
		out = append(out, fmt.Sprintf("%d custom resources whose names are %s", more, v1alpha1.NotShown))
	}
	return strings.Join(out, "; ")
}

func objectName(r v1alpha1.ProbeResourceStatus) string {
	if r.Namespace == "" {
		return r.Kind + " " + r.Name
	}
	return r.Kind + " " + r.Namespace + "/" + r.Name
}

// severity orders problems by their reason. Those that prevent all reading come first.
var severity = []string{
	v1alpha1.ReasonOperatorNotFound,
	v1alpha1.ReasonNoIdentity,
	v1alpha1.ReasonTooManyWatches,
	v1alpha1.ReasonTooManyConditions,
	v1alpha1.ReasonForbidden,
	v1alpha1.ReasonReadFailed,
	v1alpha1.ReasonStale,
	v1alpha1.ReasonInvalidExpression,
	v1alpha1.ReasonFieldNotFound,
	v1alpha1.ReasonTooManyResources,
	v1alpha1.ReasonResourceAmbiguous,
	v1alpha1.ReasonResourceNotFound,
	v1alpha1.ReasonNamespaceNotFound,
}

func problemsOf(in Inputs) []condition.Problem {
	out := slices.Clone(in.Problems)
	if in.OperatorNotFound != "" {
		out = append(out, condition.Problem{Reason: v1alpha1.ReasonOperatorNotFound, Message: in.OperatorNotFound})
	}
	for _, r := range in.Resources {
		out = append(out, r.Problems...)
	}
	slices.SortFunc(out, func(a, b condition.Problem) int {
		return cmp.Or(
			cmp.Compare(slices.Index(severity, a.Reason), slices.Index(severity, b.Reason)),
			cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(out)
}

func sentences(problems []condition.Problem) string { return condition.Messages(problems, maxNamed) }
