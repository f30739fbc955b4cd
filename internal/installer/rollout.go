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
	// Runs reports whether an operator of the installer, in the version that runs or in the next, runs in a workload of its namespace.
	Runs(operator.Operator, Workload) bool
}

// patience is how long something may take before a user should know that it takes long.
const patience = time.Minute

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

// Unsettled returns the namespaces of the operators with a workload that does not run as declared. Objects of PodKinds there tell why.
func (all Installers) Unsettled(c Cluster, operators []operator.Operator) []string {
	rollouts := rolloutsIn(c)
	var out []string
	for _, op := range operators {
		if !slices.Contains(out, op.Namespace) && slices.ContainsFunc(all.of(op, rollouts), func(r rollout) bool { return !r.settled() }) {
			out = append(out, op.Namespace)
		}
	}
	return out
}

// Explain adds blockers to operators: of workloads that do not run as declared, before others of the same impact, and of installations
// that take long.
func (all Installers) Explain(c Cluster, operators []operator.Operator, now time.Time) []operator.Operator {
	rollouts := rolloutsIn(c)
	for i := range operators {
		op := &operators[i]
		var found []operator.Blocker
		own := all.of(*op, rollouts)
		if r := all.stopped(*op, c, own); r != nil {
			op.State = operator.Stopped
			found = append(found, r.start())
		}
		for _, r := range own {
			if r.settled() {
				continue
			}
			for _, plural := range []string{ReplicaSets, Pods} {
				if slices.Contains(c.Unread, plural) && !slices.Contains(op.Unread, plural) {
					op.Unread = append(op.Unread, plural)
				}
			}
			if b := r.blocker(c, now); b != nil {
				found = append(found, *b)
			}
		}
		op.Blockers = append(found, op.Blockers...)
		if u := op.Unfinished; len(op.Blockers) == 0 && u != nil && (u.Broken || u.External || now.Sub(u.Since.Time) > patience) {
			impact := operator.Waiting
			if u.Broken {
				impact = operator.Broken
			}
			op.Blockers = append(op.Blockers, operator.Blocker{
				Impact: impact, By: u.String(), Reason: u.Reason, Since: u.Since, Cause: u.Message, Steps: u.Steps,
			})
		}
		slices.SortStableFunc(op.Blockers, func(a, b operator.Blocker) int { return cmp.Compare(a.Impact.Rank(), b.Impact.Rank()) })
	}
	return operators
}

// of returns the rollouts of an operator's workloads.
func (all Installers) of(op operator.Operator, rollouts map[string][]rollout) []rollout {
	var out []rollout
	for _, r := range rollouts[op.Namespace] {
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

// stopped returns the first of an operator's rollouts that is scaled to no pods, if all its workloads are, or nil.
func (all Installers) stopped(op operator.Operator, c Cluster, own []rollout) *rollout {
	i := slices.IndexFunc(own, rollout.isStopped)
	if i < 0 || op.State != operator.Running && op.State != operator.Installing {
		return nil
	}
	for _, o := range c.Objects {
		if r := rolloutOf(o); r.Kind == "" || r.Namespace != op.Namespace || r.isStopped() {
			continue
		}
		if w, ok := WorkloadOf(o); ok && all.runs(op, w) {
			return nil
		}
	}
	return &own[i]
}

// isStopped reports whether a workload is scaled to no pods.
func (r rollout) isStopped() bool { return r.desired == 0 && r.Kind != "DaemonSet" }

// start returns the blocker of a stopped workload.
func (r rollout) start() operator.Blocker {
	return operator.Blocker{
		Impact: operator.Held, By: r.String(), Reason: "ScaledToZero", Cause: r.String() + " is scaled to no pods, so the operator does not run",
		Steps: []operator.Step{{
			To: "To start it", Command: fmt.Sprintf("kubectl scale %s -n %s %s --replicas=1", r.workload.Resource(), r.Namespace, r.Name),
		}},
	}
}

// rolloutsIn returns the workloads that do not run as declared or are stopped, by namespace.
func rolloutsIn(c Cluster) map[string][]rollout {
	out := map[string][]rollout{}
	for _, o := range c.Objects {
		r := rolloutOf(o)
		if r.Kind == "" || r.settled() && !r.isStopped() {
			continue
		}
		r.workload, _ = WorkloadOf(o) // it is one
		out[r.Namespace] = append(out[r.Namespace], r)
	}
	return out
}

// rollout is a workload that is to run as declared.
type rollout struct {
	operator.Ref

	object   Object
	workload Workload

	// desired, updated and available are numbers of pods: declared, of the declared version, and available of any version. old are those
	// of an older version.
	desired, updated, available, old int32

	// observed is true if its controller has seen what is declared. paused is true if a user keeps it from acting on it.
	observed, paused bool

	// failure is the condition of a Deployment that it cannot create pods, or nil.
	failure *appsv1.DeploymentCondition
}

// rolloutOf returns the rollout of a workload. An object of another kind has none: its Kind is empty.
func rolloutOf(o Object) rollout {
	out := rollout{object: o, Ref: operator.Ref{Namespace: o.GetNamespace(), Name: o.GetName()}}
	switch w := o.(type) {
	case *appsv1.Deployment:
		s := w.Status
		out.Kind, out.desired, out.updated, out.available = "Deployment", ptr.Deref(w.Spec.Replicas, 1), s.UpdatedReplicas, s.AvailableReplicas
		out.observed, out.old, out.paused = s.ObservedGeneration >= w.Generation, max(s.Replicas-s.UpdatedReplicas, 0), w.Spec.Paused
		for i := range s.Conditions {
			if c := &s.Conditions[i]; c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue {
				out.failure = c
			}
		}
	case *appsv1.StatefulSet:
		s := w.Status
		out.Kind, out.desired, out.available, out.observed = "StatefulSet", ptr.Deref(w.Spec.Replicas, 1), s.AvailableReplicas, s.ObservedGeneration >= w.Generation
		out.updated = s.UpdatedReplicas
		if s.UpdateRevision == s.CurrentRevision || w.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType {
			out.updated = s.Replicas
		}
	case *appsv1.DaemonSet:
		s := w.Status
		out.Kind, out.desired, out.available, out.observed = "DaemonSet", s.DesiredNumberScheduled, s.NumberAvailable, s.ObservedGeneration >= w.Generation
		out.updated = s.UpdatedNumberScheduled
		if w.Spec.UpdateStrategy.Type == appsv1.OnDeleteDaemonSetStrategyType {
			out.updated = s.CurrentNumberScheduled
		}
	}
	return out
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
	return r.observed && r.updated >= r.desired && r.available >= r.desired && r.old == 0
}

// blocker returns why a workload does not run as declared, or nil if it may just take some time.
func (r rollout) blocker(c Cluster, now time.Time) *operator.Blocker {
	pods := r.pods(c)
	worst, ready := worstOf(pods, c, now)
	count := fmt.Sprintf("%d of %d pods of %s are ready", min(ready, int(r.desired)), r.desired, r.Ref)
	if r.old > 0 {
		count = fmt.Sprintf("%d of %d new pods of %s are ready", min(ready, int(r.desired)), r.desired, r.Ref)
	}
	describe := func(kind, name string) []operator.Step {
		return []operator.Step{operator.Describe("To see it", kind, r.Namespace, name)}
	}
	switch {
	case r.failure != nil && int32(len(pods)) < r.desired:
		return &operator.Blocker{
			Impact: operator.Broken, By: r.String(), Reason: r.failure.Reason, Since: r.failure.LastTransitionTime,
			Cause: fmt.Sprintf("%s, since they cannot be created: %s", count, r.failure.Message), Steps: describe(r.workload.Resource(), r.Name),
		}
	case worst != nil:
		return &operator.Blocker{
			Impact: worst.impact, By: worst.String(), Reason: worst.reason, Since: worst.since, Cause: fmt.Sprintf("%s: %s", count, worst.message),
			Steps: append(describe("pod", worst.Name), worst.steps...),
		}
	case r.paused && r.updated < r.desired:
		return &operator.Blocker{
			Impact: operator.Held, By: r.String(), Reason: "Paused", Cause: r.String() + " is paused, so its pods are not updated",
			Steps: []operator.Step{{To: "To resume it", Command: fmt.Sprintf("kubectl rollout resume deployment -n %s %s", r.Namespace, r.Name)}},
		}
	}
	if e := r.warning(c); e != nil && int32(len(pods)) < r.desired {
		return &operator.Blocker{
			Impact: operator.Broken, By: r.String(), Reason: e.Reason, Since: firstSeen(e), Cause: fmt.Sprintf("%s: %s", count, e.Message),
			Steps: describe(r.workload.Resource(), r.Name),
		}
	}
	return nil
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

// pods returns the pods of the declared version of a workload, or of any version if that is not known.
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
