package installer

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/operator-status/operator-status/internal/operator"
)

// Runner is an Installer that knows the workloads of its operators.
type Runner interface {
	// Runs reports whether an operator of the installer, in the version that runs or in the next, runs in a workload. That may be in another
	// namespace.
	Runs(operator.Operator, Workload) bool
}

// patience is how long something may take before a user should know that it takes long.
const patience = time.Minute

// Deployments is the kind of the workloads in which an operator runs whose versions have names. Without it, nothing is known of its pods.
const Deployments = "Deployments"

// Kinds of which Explain reads objects if a workload is not as declared.
const (
	ReplicaSets = "ReplicaSets"
	Pods        = "Pods"
	Events      = "Events"
)

// PodKinds returns the kinds that tell why a workload does not run as declared.
func PodKinds() []Kind {
	core, apps := corev1.SchemeGroupVersion, appsv1.SchemeGroupVersion
	out := []Kind{
		{GroupVersionKind: apps.WithKind("ReplicaSet"), Plural: ReplicaSets, AddToScheme: appsv1.AddToScheme, List: func() List { return &appsv1.ReplicaSetList{} }},
		{GroupVersionKind: core.WithKind("Pod"), Plural: Pods, AddToScheme: addPods, List: func() List { return &corev1.PodList{} }},
		{GroupVersionKind: core.WithKind("Event"), Plural: Events, AddToScheme: addPods, List: func() List { return &corev1.EventList{} }},
	}
	for i := range out {
		out[i].Unwatched, out[i].Trim = true, func(o Object) { o.SetManagedFields(nil) }
	}
	return out
}

// addPods registers the kinds of Kubernetes' core that PodKinds has.
func addPods(s *runtime.Scheme) error {
	s.AddKnownTypes(corev1.SchemeGroupVersion, &corev1.Pod{}, &corev1.PodList{}, &corev1.Event{}, &corev1.EventList{})
	metav1.AddToGroupVersion(s, corev1.SchemeGroupVersion)
	return nil
}

// Unsettled returns the namespaces of the workloads of operators that do not run as declared. Objects of PodKinds there tell why.
func (all Installers) Unsettled(c Cluster, operators []operator.Operator) []string {
	rollouts := rolloutsIn(c)
	var out []string
	for _, op := range operators {
		for _, r := range all.of(op, rollouts) {
			if !r.settled() && !slices.Contains(out, r.Namespace) {
				out = append(out, r.Namespace)
			}
		}
	}
	return out
}

// Explain adds blockers to operators: of workloads that do not run as declared, before others of the same impact, and of installations
// that have failed or take long.
func (all Installers) Explain(c Cluster, operators []operator.Operator, now time.Time) []operator.Operator {
	rollouts := rolloutsIn(c)
	for i := range operators {
		op := &operators[i]
		var found []operator.Blocker
		own := all.of(*op, rollouts)
		if r := all.stopped(*op, c, own); r != nil {
			op.State = operator.Stopped
			found = append(found, r.start())
		} else if all.failed(*op, c, own, now) {
			op.State = operator.Failed
		}
		if op.Installed != "" {
			addUnread(op, c, Deployments)
		}
		for _, r := range own {
			if r.settled() {
				continue
			}
			addUnread(op, c, ReplicaSets, Pods)
			if b := r.blocker(c, now); b != nil {
				found = append(found, *b)
			}
		}
		op.Blockers = append(found, op.Blockers...)
		b := stalled(*op, now)
		if b != nil && (op.Unfinished.Invalid || !slices.ContainsFunc(found, isAmiss)) { // else a workload tells why an installation takes too long
			op.Blockers = append(op.Blockers, *b)
		}
		slices.SortStableFunc(op.Blockers, func(a, b operator.Blocker) int { return cmp.Compare(a.Impact.Rank(), b.Impact.Rank()) })
	}
	return operators
}

// addUnread adds those of some kinds to an operator that may not be read.
func addUnread(op *operator.Operator, c Cluster, plurals ...string) {
	for _, plural := range plurals {
		if slices.Contains(c.Unread, plural) && !slices.Contains(op.Unread, plural) {
			op.Unread = append(op.Unread, plural)
		}
	}
}

// stalled returns the blocker of an operator's installation or update that has failed or takes long, or nil. Another blocker of the same or
// a worse impact tells more.
func stalled(op operator.Operator, now time.Time) *operator.Blocker {
	u := op.Unfinished
	if u == nil || !u.Broken && !u.External && now.Sub(u.Since.Time) <= patience {
		return nil
	}
	out := &operator.Blocker{Impact: operator.Waiting, By: u.String(), Reason: u.Reason, Since: u.Since, Cause: u.Message, Steps: u.Steps}
	if u.Broken {
		out.Impact = operator.Broken
	}
	if slices.ContainsFunc(op.Blockers, func(b operator.Blocker) bool { return b.Impact.Rank() <= out.Impact.Rank() }) {
		return nil
	}
	return out
}

// of returns the rollouts of an operator's workloads.
func (all Installers) of(op operator.Operator, rollouts []rollout) []rollout {
	var out []rollout
	for _, r := range rollouts {
		if all.runs(op, r.workload) {
			out = append(out, r)
		}
	}
	return out
}

// runs reports whether a workload belongs to an operator.
func (all Installers) runs(op operator.Operator, w Workload) bool {
	return slices.ContainsFunc(only[Runner](all), func(i Runner) bool { return i.Runs(op, w) })
}

// stopped returns the first of an operator's rollouts that is scaled to no pods, if all its workloads are, or if one without pods is all
// that keeps it from running; or nil.
func (all Installers) stopped(op operator.Operator, c Cluster, own []rollout) *rollout {
	i := slices.IndexFunc(own, rollout.isStopped)
	if i < 0 || op.State != operator.Running && op.State != operator.Installing {
		return nil
	}
	for _, o := range c.Objects {
		r := rolloutOf(o)
		if r.Kind == "" || r.isStopped() || op.State == operator.Installing && r.settled() {
			continue
		}
		if w, ok := WorkloadOf(o); ok && all.runs(op, w) {
			return nil
		}
	}
	return &own[i]
}

// failed reports whether one of an operator's rollouts has failed, and is of the version that runs. The next version may have taken over
// the workloads of that.
func (all Installers) failed(op operator.Operator, c Cluster, own []rollout, now time.Time) bool {
	own = slices.DeleteFunc(slices.Clone(own), func(r rollout) bool { return !r.failed(c, now) })
	if len(own) == 0 || op.State != operator.Running && op.State != operator.Installing {
		return false
	}
	for _, version := range []string{op.Installed, op.Update} {
		op.Installed, op.Update = version, ""
		if all.haveWorkload(op, c) {
			return len(all.of(op, own)) > 0
		}
	}
	return false
}

// haveWorkload reports whether an operator runs in a workload of a cluster.
func (all Installers) haveWorkload(op operator.Operator, c Cluster) bool {
	return slices.ContainsFunc(c.Objects, func(o Object) bool {
		w, ok := WorkloadOf(o)
		return ok && all.runs(op, w)
	})
}

// failed reports whether a workload has failed that is to run: its controller has given up on it, or it has run, and its pods are broken.
func (r rollout) failed(c Cluster, now time.Time) bool {
	switch {
	case r.isStopped(), r.available > 0:
		return false
	case r.workload.State == operator.Failed:
		return true
	case r.progress == nil || r.progress.Reason != "NewReplicaSetAvailable":
		return false
	}
	b := r.blocker(c, now)
	return b != nil && b.Impact == operator.Broken
}

// isAmiss reports whether a workload does not run as declared.
func isAmiss(b operator.Blocker) bool { return b.Reason != reasonStopped }

// reasonStopped is the reason of a workload that is scaled to no pods, as declared.
const reasonStopped = "ScaledToZero"

// isStopped reports whether a workload is scaled to no pods.
func (r rollout) isStopped() bool { return r.desired == 0 && r.Kind != "DaemonSet" }

// start returns the blocker of a stopped workload.
func (r rollout) start() operator.Blocker {
	return operator.Blocker{
		Impact: operator.Held, By: r.String(), Reason: reasonStopped, Cause: r.String() + " is scaled to no pods, so the operator does not run",
		Steps: []operator.Step{{
			To: "To start it", Command: operator.Command("kubectl scale %s -n %s %s --replicas=1", r.workload.Resource(), r.Namespace, r.Name),
		}},
	}
}

// rolloutsIn returns the workloads that do not run as declared or are stopped.
func rolloutsIn(c Cluster) []rollout {
	var out []rollout
	for _, o := range c.Objects {
		r := rolloutOf(o)
		if r.Kind == "" || r.settled() && !r.isStopped() {
			continue
		}
		r.workload, _ = WorkloadOf(o) // it is one
		out = append(out, r)
	}
	return out
}

// rollout is a workload that is to run as declared.
type rollout struct {
	operator.Ref

	object   Object
	workload Workload

	// desired, exist, updated and available are numbers of pods: declared, of any version, of the declared version, and available of any
	// version. old are those of an older version of a Deployment.
	desired, exist, updated, available, old int32

	// observed is true if its controller has seen what is declared. paused is true if a user keeps it from acting on it.
	observed, paused bool

	// failure is the condition of a Deployment that it cannot create pods, and progress that of its rollout. Each may be nil.
	failure, progress *appsv1.DeploymentCondition
}

// rolloutOf returns the rollout of a workload. An object of another kind has none: its Kind is empty.
func rolloutOf(o Object) rollout {
	out := rollout{object: o, Ref: operator.Ref{Namespace: o.GetNamespace(), Name: o.GetName()}}
	switch w := o.(type) {
	case *appsv1.Deployment:
		s := w.Status
		out.Kind, out.desired, out.updated, out.available = "Deployment", ptr.Deref(w.Spec.Replicas, 1), s.UpdatedReplicas, s.AvailableReplicas
		out.exist, out.old = s.Replicas, max(s.Replicas-s.UpdatedReplicas, 0)
		out.observed, out.paused = s.ObservedGeneration >= w.Generation, w.Spec.Paused
		for i := range s.Conditions {
			switch c := &s.Conditions[i]; {
			case c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue:
				out.failure = c
			case c.Type == appsv1.DeploymentProgressing:
				out.progress = c
			}
		}
	case *appsv1.StatefulSet:
		s := w.Status
		out.Kind, out.desired, out.available, out.observed = "StatefulSet", ptr.Deref(w.Spec.Replicas, 1), s.AvailableReplicas, s.ObservedGeneration >= w.Generation
		out.exist, out.updated = s.Replicas, s.UpdatedReplicas
		if s.UpdateRevision == s.CurrentRevision || !updatesAll(w.Spec.UpdateStrategy) {
			out.updated = s.Replicas
		}
	case *appsv1.DaemonSet:
		s := w.Status
		out.Kind, out.desired, out.available, out.observed = "DaemonSet", s.DesiredNumberScheduled, s.NumberAvailable, s.ObservedGeneration >= w.Generation
		out.exist, out.updated = s.CurrentNumberScheduled, s.UpdatedNumberScheduled
		if w.Spec.UpdateStrategy.Type == appsv1.OnDeleteDaemonSetStrategyType {
			out.updated = s.CurrentNumberScheduled
		}
	}
	return out
}

// updatesAll reports whether a StatefulSet replaces all pods of an older version.
func updatesAll(s appsv1.StatefulSetUpdateStrategy) bool {
	return s.Type != appsv1.OnDeleteStatefulSetStrategyType && (s.RollingUpdate == nil || ptr.Deref(s.RollingUpdate.Partition, 0) == 0)
}

// WorkloadNode returns a workload with those of its pods that are not ready, and nil if it runs as declared.
func WorkloadNode(o Object, c Cluster) *operator.Node {
	r := rolloutOf(o)
	if r.settled() {
		return nil
	}
	out := &operator.Node{Name: r.String(), State: fmt.Sprintf("%d/%d", r.available, r.desired), Message: r.unavailable()}
	if r.old > 0 || r.available >= r.desired {
		out.State, out.Message = "Updating", fmt.Sprintf("%d of %d pods are of the new version, and %d of an older one", r.updated, r.desired, r.old)
	}
	for _, pod := range r.pods(c) {
		if !isReady(pod) {
			t := troubleOf(pod, c)
			out.Children = append(out.Children, operator.Node{Name: t.String(), State: t.reason, Message: t.message})
		}
	}
	return out
}

// unavailable returns why a Deployment is not available, as far as it reports that.
func (r rollout) unavailable() string {
	if d, ok := r.object.(*appsv1.Deployment); ok {
		for _, c := range d.Status.Conditions {
			if c.Status != corev1.ConditionTrue && (c.Type == appsv1.DeploymentAvailable || c.Type == appsv1.DeploymentProgressing) {
				return c.Message
			}
		}
	}
	return ""
}

// IsSettled reports whether a workload runs as declared, with no pods of an older version.
func IsSettled(workload Object) bool { return rolloutOf(workload).settled() }

func (r rollout) settled() bool {
	return !r.outdated() && r.updated >= r.desired && r.available >= r.desired
}

// outdated reports whether a pod may be of an older version than the declared one. How many pods there are to be does not matter.
func (r rollout) outdated() bool { return !r.observed || r.updated < r.exist }

// blocker returns why a workload does not run as declared, or nil if it may just take some time.
func (r rollout) blocker(c Cluster, now time.Time) *operator.Blocker {
	pods := r.pods(c)
	worst, ready := worstOf(pods, c, now)
	count := fmt.Sprintf("%d of %d pods of %s are ready", min(ready, int(r.desired)), r.desired, r.Ref)
	if r.old > 0 {
		count = fmt.Sprintf("%d of %d new pods of %s are ready", min(ready, int(r.desired)), r.desired, r.Ref)
	}
	switch {
	case r.failure != nil && int32(len(pods)) < r.desired:
		return &operator.Blocker{
			Impact: operator.Broken, By: r.String(), Reason: r.failure.Reason, Since: r.failure.LastTransitionTime,
			Cause: fmt.Sprintf("%s, since they cannot be created: %s", count, r.failure.Message), Steps: r.steps(),
		}
	case worst != nil:
		return &operator.Blocker{
			Impact: worst.impact, By: worst.String(), Reason: worst.reason, Since: worst.since, Cause: fmt.Sprintf("%s: %s", count, worst.message),
			Steps: append([]operator.Step{operator.Describe("To see it", "pod", worst.Namespace, worst.Name)}, worst.steps...),
		}
	case r.paused && r.updated < r.desired:
		return &operator.Blocker{
			Impact: operator.Held, By: r.String(), Reason: "Paused", Cause: r.String() + " is paused, so its pods are not updated",
			Steps: []operator.Step{{To: "To resume it", Command: operator.Command("kubectl rollout resume deployment -n %s %s", r.Namespace, r.Name)}},
		}
	}
	if e := r.warning(c); e != nil && int32(len(pods)) < r.desired {
		return &operator.Blocker{
			Impact: operator.Broken, By: r.String(), Reason: e.Reason, Since: firstSeen(e), Cause: fmt.Sprintf("%s: %s", count, e.Message),
			Steps: r.steps(),
		}
	}
	if r.progress != nil && r.progress.Status == corev1.ConditionFalse {
		return &operator.Blocker{
			Impact: operator.Broken, By: r.String(), Reason: r.progress.Reason, Since: r.progress.LastTransitionTime,
			Cause: fmt.Sprintf("%s does not progress: %s", r.Ref, r.progress.Message), Steps: r.steps(),
		}
	}
	if ready < len(pods) { // a pod may just take some time
		return nil
	}
	return r.ignored(c, now)
}

// ignored returns the blocker of a workload whose controller has not acted for long on a change, although no pod keeps it from that, or
// nil. Nothing is concluded without the pods.
func (r rollout) ignored(c Cluster, now time.Time) *operator.Blocker {
	since := r.changed()
	if since.IsZero() || now.Sub(since.Time) <= patience || slices.Contains(c.Unread, ReplicaSets) || slices.Contains(c.Unread, Pods) {
		return nil
	}
	reason, cause := "NotReady", fmt.Sprintf("%d of %d pods of %s are of the declared version", min(r.updated, r.desired), r.desired, r.Ref)
	switch {
	case !r.observed:
		reason, cause = "NotReconciled", fmt.Sprintf("kube-controller-manager has not processed the last change of %s: check that it runs", r.Ref)
	case r.old > 0:
		cause += fmt.Sprintf(", and %d of an older one", r.old)
	default:
		cause += fmt.Sprintf(", and %d are available", r.available)
	}
	return &operator.Blocker{Impact: operator.Waiting, By: r.String(), Reason: reason, Since: since, Cause: cause, Steps: r.steps()}
}

// changed returns when a workload or its status was changed last, as far as it tells. An archive has no managed fields.
func (r rollout) changed() metav1.Time {
	out := Changed(r.object)
	if r.progress != nil && out.Before(&r.progress.LastUpdateTime) {
		out = r.progress.LastUpdateTime
	}
	return out
}

// Changed returns when an object, or its status, was changed last.
func Changed(o metav1.Object) metav1.Time {
	out := o.GetCreationTimestamp()
	for _, entry := range o.GetManagedFields() {
		if out.Before(entry.Time) {
			out = *entry.Time
		}
	}
	return out
}

// DropFields removes the names of the fields that managers own from an object. Changed needs their times.
func DropFields(o Object) {
	fields := o.GetManagedFields()
	for i := range fields {
		fields[i].FieldsV1 = nil
	}
	o.SetManagedFields(fields)
}

// steps returns the step that shows a workload.
func (r rollout) steps() []operator.Step {
	return []operator.Step{operator.Describe("To see it", r.workload.Resource(), r.Namespace, r.Name)}
}

// worstOf returns the trouble of the pod that has most, or nil if they may just take some time, and how many are ready.
func worstOf(pods []*corev1.Pod, c Cluster, now time.Time) (worst *podTrouble, ready int) {
	for _, pod := range pods {
		if isReady(pod) {
			ready++
			continue
		}
		t := troubleOf(pod, c)
		if lasts := t.certain || now.Sub(t.since.Time) > patience; lasts && (worst == nil || t.impact.Rank() < worst.impact.Rank()) {
			worst = &t
		}
	}
	return worst, ready
}

// PodTrouble returns why a pod of a workload does not become ready, according to its pods and ReplicaSets, or empty.
func PodTrouble(workload Object, c Cluster, now time.Time) string {
	worst, _ := worstOf(rolloutOf(workload).pods(c), c, now)
	if worst == nil {
		return ""
	}
	return fmt.Sprintf("%s (%s): %s", worst.Ref, worst.reason, worst.message)
}

// pods returns the pods of the declared version of a workload, or of any version if that is not known. A pod that has ended is not among them
// if its ReplicaSet has created another, or cannot.
func (r rollout) pods(c Cluster) []*corev1.Pod {
	owner := r.object.GetUID()
	if r.Kind == "Deployment" {
		newest := newestReplicaSet(r.object, c)
		if newest == nil {
			return nil
		}
		owner = newest.UID
	}
	var out []*corev1.Pod
	for pod := range each[corev1.Pod](c) {
		if pod.Namespace == r.Namespace && isOwnedBy(pod, owner) {
			out = append(out, pod)
		}
	}
	slices.SortFunc(out, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	active := slices.DeleteFunc(slices.Clone(out), hasEnded)
	if r.Kind == "Deployment" && (len(active) > 0 || r.failure != nil) {
		return active
	}
	return out
}

// newestReplicaSet returns the ReplicaSet of the declared version of a Deployment, or nil.
func newestReplicaSet(deployment Object, c Cluster) *appsv1.ReplicaSet {
	const annotation = "deployment.kubernetes.io/revision"
	var out *appsv1.ReplicaSet
	revision := func(o *appsv1.ReplicaSet) int {
		n, _ := strconv.Atoi(o.Annotations[annotation]) // 0 until its Deployment has counted it
		return n
	}
	for rs := range each[appsv1.ReplicaSet](c) {
		if rs.Namespace == deployment.GetNamespace() && isOwnedBy(rs, deployment.GetUID()) && (out == nil || revision(rs) > revision(out)) {
			out = rs
		}
	}
	return out
}

func isOwnedBy(o Object, owner types.UID) bool {
	ref := metav1.GetControllerOfNoCopy(o)
	return ref != nil && ref.UID == owner && owner != ""
}

// warning returns the last Event about a StatefulSet or DaemonSet that could not create a pod, or nil. A Deployment has a condition for it.
func (r rollout) warning(c Cluster) *corev1.Event {
	return lastWarning(c, r.Ref, "FailedCreate")
}

// lastWarning returns the last Event of type Warning about an object, with one of the reasons if any are given, or nil.
func lastWarning(c Cluster, about operator.Ref, reasons ...string) *corev1.Event {
	var out *corev1.Event
	for e := range each[corev1.Event](c) {
		if e.Type != corev1.EventTypeWarning || e.InvolvedObject.Kind != about.Kind || e.InvolvedObject.Name != about.Name ||
			e.InvolvedObject.Namespace != about.Namespace || len(reasons) > 0 && !slices.Contains(reasons, e.Reason) {
			continue
		}
		if out == nil || lastSeen(out).Time.Before(lastSeen(e).Time) {
			out = e
		}
	}
	return out
}

// firstSeen and lastSeen return when an Event was recorded, in both of the ways that Kubernetes has.
func firstSeen(e *corev1.Event) metav1.Time {
	if !e.FirstTimestamp.IsZero() {
		return e.FirstTimestamp
	}
	return metav1.NewTime(e.EventTime.Time)
}

func lastSeen(e *corev1.Event) metav1.Time {
	switch {
	case e.Series != nil:
		return metav1.NewTime(e.Series.LastObservedTime.Time)
	case !e.LastTimestamp.IsZero():
		return e.LastTimestamp
	}
	return firstSeen(e)
}
