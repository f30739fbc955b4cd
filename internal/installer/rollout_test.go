package installer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/internal/operator"
)

// single is an Installer with one operator, which runs in every workload of its namespace.
type single struct{ op operator.Operator }

func (single) Name() string                               { return "Single" }
func (single) Kinds() []Kind                              { return nil }
func (s single) Operators(Cluster) []operator.Operator    { return []operator.Operator{s.op} }
func (single) Runs(op operator.Operator, w Workload) bool { return op.Namespace == w.Namespace }
func at(second int64) metav1.Time                         { return metav1.Unix(second, 0) }
func owned(kind, name string) metav1.ObjectMeta           { return ownedBy(kind, name, name+"-1") }
func waitingFor(reason, message string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
}

func ownedBy(kind, owner, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: "foo", Name: name, UID: types.UID(name), CreationTimestamp: at(100),
		OwnerReferences: []metav1.OwnerReference{{Kind: kind, Name: owner, UID: types.UID(owner), Controller: new(true)}},
	}
}

// deployment returns one with pods of the declared and of an older version, of which one is available.
func deployment(replicas, all, updated int32) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "foo", Name: "foo", UID: "foo", Generation: 2},
		Spec:       appsv1.DeploymentSpec{Replicas: &replicas},
		Status:     appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: all, UpdatedReplicas: updated, AvailableReplicas: 1},
	}
}

// reporting returns one with a condition since second 160.
func reporting(d *appsv1.Deployment, of appsv1.DeploymentConditionType, status corev1.ConditionStatus, reason, message string) *appsv1.Deployment {
	d.Status.Conditions = []appsv1.DeploymentCondition{{Type: of, Status: status, Reason: reason, Message: message, LastTransitionTime: at(160)}}
	return d
}

func replicaSet(name, revision string) *appsv1.ReplicaSet {
	out := &appsv1.ReplicaSet{ObjectMeta: ownedBy("Deployment", "foo", name)}
	out.Annotations = map[string]string{"deployment.kubernetes.io/revision": revision}
	return out
}

// pod returns one of a ReplicaSet that is not ready since second 200.
func pod(of string, change func(*corev1.Pod)) *corev1.Pod {
	out := &corev1.Pod{ObjectMeta: owned("ReplicaSet", of)}
	out.Status.Phase = corev1.PodPending
	out.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: at(200)}}
	change(out)
	return out
}

func withContainer(state corev1.ContainerState, restarts int32, last *corev1.ContainerStateTerminated) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: "manager", State: state, RestartCount: restarts, LastTerminationState: corev1.ContainerState{Terminated: last},
		}}
	}
}

func warningAbout(kind, name, reason, message string) *corev1.Event {
	return &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: "foo", Name: name + reason}, Type: corev1.EventTypeWarning, Reason: reason, Message: message,
		InvolvedObject: corev1.ObjectReference{Kind: kind, Namespace: "foo", Name: name}, FirstTimestamp: at(210), LastTimestamp: at(290),
	}
}

// TestExplain verifies the blockers of workloads that do not run as declared.
func TestExplain(t *testing.T) {
	oldAndNew := []Object{replicaSet("old", "1"), replicaSet("new", "2"), pod("old", func(p *corev1.Pod) {
		p.Status.Phase, p.Status.Conditions[0].Status = corev1.PodRunning, corev1.ConditionTrue
	})}
	exited := &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", Message: "no such flag"}
	unresolved := &operator.Unfinished{
		Ref: operator.Ref{Kind: "Subscription", Namespace: "foo", Name: "foo"}, Reason: "NotResolved", Message: "nobody", Since: at(200),
	}
	failed := &operator.Unfinished{Ref: unresolved.Ref, Reason: "Retrying", Message: "no such bundle", Since: at(290), Broken: true}
	held := operator.Blocker{Impact: operator.Held, By: "UpgradeHold audit", Reason: "HeldByUser", Since: at(150), Cause: "until Friday"}
	evicted := pod("new", func(p *corev1.Pod) { p.Name, p.Status.Phase, p.Status.Reason = "new-0", corev1.PodFailed, "Evicted" })
	unseen := deployment(1, 1, 1)
	unseen.CreationTimestamp, unseen.Generation = at(100), 3
	seenSoon := unseen.DeepCopy()
	seenSoon.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "helm", Time: new(at(290))}, {Manager: "kubectl"}}
	empty := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "foo", Name: "foo", UID: "foo", CreationTimestamp: at(100)}}
	canary := empty.DeepCopy()
	canary.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: new(int32(1))}
	canary.Status = appsv1.StatefulSetStatus{Replicas: 1, AvailableReplicas: 1, CurrentRevision: "1", UpdateRevision: "2"}
	rollout := deployment(1, 2, 1)
	with := func(objects ...Object) []Object { return slices.Concat([]Object{rollout}, oldAndNew, objects) }
	cases := map[string]struct {
		reason     string
		objects    []Object
		unread     []string
		blockers   []operator.Blocker // of the installer
		unfinished *operator.Unfinished
		state      operator.State // or Running
		second     int64          // now, or 0 for 300
		want       []string       // impact, by, reason, since: cause; and the commands
	}{
		"Settled": {reason: "A workload that runs as declared is not looked at.", objects: []Object{deployment(1, 1, 1), pod("foo", func(*corev1.Pod) {})}},
		"Unscheduled": {
			reason: "The new pod counts, and not the old one that still runs.",
			objects: with(pod("new", func(p *corev1.Pod) {
				p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
					Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/1 nodes match", LastTransitionTime: at(150),
				})
			})),
			want: []string{
				"Broken by Pod foo/new-1, Unschedulable since 150: 0 of 1 new pods of Deployment foo/foo are ready: the pod is Pending: 0/1 nodes match",
				"kubectl describe pod -n foo new-1",
			},
		},
		"Image": {
			reason:  "What the kubelet says of the image is the cause.",
			objects: with(pod("new", withContainer(waitingFor("ImagePullBackOff", "no such image"), 0, nil))),
			want: []string{
				"Broken by Pod foo/new-1, ImagePullBackOff since 200: 0 of 1 new pods of Deployment foo/foo are ready: container manager waits: no such image",
				"kubectl describe pod -n foo new-1",
			},
		},
		"Crash": {
			reason:  "How the container ended is the cause, and its log has more.",
			objects: with(pod("new", withContainer(waitingFor("CrashLoopBackOff", "back-off 5m0s"), 4, exited))),
			want: []string{
				"Broken by Pod foo/new-1, CrashLoopBackOff since 200: 0 of 1 new pods of Deployment foo/foo are ready: container manager was restarted 4 times; " +
					"last it ended with exit code 1 and reason Error: no such flag",
				"kubectl describe pod -n foo new-1", "kubectl logs -n foo new-1 -c manager --previous",
			},
		},
		"BetweenCrashes": {
			reason:  "A container that runs for a moment until it crashes again is no better.",
			objects: with(pod("new", withContainer(corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}, 4, exited))),
			want: []string{
				"Broken by Pod foo/new-1, Error since 0: 0 of 1 new pods of Deployment foo/foo are ready: container manager was restarted 4 times; " +
					"last it ended with exit code 1 and reason Error: no such flag",
				"kubectl describe pod -n foo new-1", "kubectl logs -n foo new-1 -c manager --previous",
			},
		},
		"Starting": {
			reason: "A pod that has just been created starts.", second: 250,
			objects: with(pod("new", withContainer(waitingFor("ContainerCreating", ""), 0, nil))),
		},
		"Slow": {
			reason:  "What takes long is said, though nothing is known to be wrong.",
			objects: with(pod("new", withContainer(waitingFor("ContainerCreating", ""), 0, nil))),
			want: []string{
				"Waiting by Pod foo/new-1, NotReady since 200: 0 of 1 new pods of Deployment foo/foo are ready: the pod is Pending, and not ready",
				"kubectl describe pod -n foo new-1",
			},
		},
		"Node": {
			reason:  "A kubelet acknowledges a pod with its start time.",
			objects: with(pod("new", func(p *corev1.Pod) { p.Spec.NodeName = "one" })),
			want: []string{
				"Waiting by Pod foo/new-1, NotReady since 200: 0 of 1 new pods of Deployment foo/foo are ready: the kubelet of node one has not begun to start the pod",
				"kubectl describe pod -n foo new-1", "kubectl describe node one",
			},
		},
		"Mount": {
			reason:  "An Event has the cause if the status has none.",
			objects: with(pod("new", withContainer(waitingFor("ContainerCreating", ""), 0, nil)), warningAbout("Pod", "new-1", "FailedMount", "no Secret certs")),
			want: []string{
				"Broken by Pod foo/new-1, FailedMount since 210: 0 of 1 new pods of Deployment foo/foo are ready: no Secret certs", "kubectl describe pod -n foo new-1",
			},
		},
		"MountSoon": {
			reason: "A volume may come a moment later than its pod.", second: 250,
			objects: with(pod("new", withContainer(waitingFor("ContainerCreating", ""), 0, nil)), warningAbout("Pod", "new-1", "FailedMount", "no Secret certs")),
		},
		"Unhealthy": {
			reason: "A failing readiness probe is no failure of the operator, yet.",
			objects: with(pod("new", withContainer(corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}, 0, nil)),
				warningAbout("Pod", "new-1", "Unhealthy", "Readiness probe failed: 503")),
			want: []string{
				"Waiting by Pod foo/new-1, Unhealthy since 210: 0 of 1 new pods of Deployment foo/foo are ready: Readiness probe failed: 503",
				"kubectl describe pod -n foo new-1",
			},
		},
		"Passed": {
			reason: "A warning from before its container began to run is over.",
			objects: with(pod("new", withContainer(corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at(295)}}, 0, nil)),
				warningAbout("Pod", "new-1", "FailedScheduling", "0/3 nodes are available")),
			want: []string{
				"Waiting by Pod foo/new-1, NotReady since 200: 0 of 1 new pods of Deployment foo/foo are ready: the pod is Pending, and not ready",
				"kubectl describe pod -n foo new-1",
			},
		},
		"Quota": {
			reason: "Pods that cannot be created have no status: their Deployment has.",
			objects: slices.Concat([]Object{
				reporting(deployment(2, 1, 0), appsv1.DeploymentReplicaFailure, corev1.ConditionTrue, "FailedCreate", "exceeded quota: pods"),
			}, oldAndNew),
			want: []string{
				"Broken by Deployment foo/foo, FailedCreate since 160: 0 of 2 new pods of Deployment foo/foo are ready, since they cannot be created: " +
					"exceeded quota: pods", "kubectl describe deployment -n foo foo",
			},
		},
		"QuotaAfterEviction": {
			reason: "A pod that has ended takes no part of what may be created.",
			objects: slices.Concat([]Object{
				reporting(deployment(1, 1, 0), appsv1.DeploymentReplicaFailure, corev1.ConditionTrue, "FailedCreate", "exceeded quota: pods"), evicted,
			}, oldAndNew),
			want: []string{
				"Broken by Deployment foo/foo, FailedCreate since 160: 0 of 1 new pods of Deployment foo/foo are ready, since they cannot be created: " +
					"exceeded quota: pods", "kubectl describe deployment -n foo foo",
			},
		},
		"Replaced": {
			reason:  "A pod that has ended and been replaced is no cause.",
			objects: with(evicted, pod("new", withContainer(waitingFor("ImagePullBackOff", "no such image"), 0, nil))),
			want: []string{
				"Broken by Pod foo/new-1, ImagePullBackOff since 200: 0 of 1 new pods of Deployment foo/foo are ready: container manager waits: no such image",
				"kubectl describe pod -n foo new-1",
			},
		},
		"NotReplaced": {
			reason:  "One that has not been replaced is.",
			objects: with(evicted),
			want: []string{
				"Broken by Pod foo/new-0, Evicted since 200: 0 of 1 new pods of Deployment foo/foo are ready: the pod has failed", "kubectl describe pod -n foo new-0",
			},
		},
		"ReplicaSetQuota": {
			reason: "ReplicaSets that cannot be created have no status, either.",
			objects: slices.Concat([]Object{
				reporting(deployment(1, 1, 0), appsv1.DeploymentProgressing, corev1.ConditionFalse, "ReplicaSetCreateError", "exceeded quota: replicasets"),
			}, oldAndNew[:1], oldAndNew[2:]),
			want: []string{
				"Broken by Deployment foo/foo, ReplicaSetCreateError since 160: Deployment foo/foo does not progress: exceeded quota: replicasets",
				"kubectl describe deployment -n foo foo",
			},
		},
		"Unseen": {
			reason: "Without its controller, a Deployment stays as it is.", objects: []Object{unseen},
			want: []string{
				"Waiting by Deployment foo/foo, NotReconciled since 100: kube-controller-manager has not processed the last change of Deployment foo/foo: " +
					"check that it runs", "kubectl describe deployment -n foo foo",
			},
		},
		"SeenSoon": {reason: "Its controller takes a moment for a change.", objects: []Object{seenSoon}},
		"NoPods": {
			reason: "A StatefulSet without pods does not say why.", objects: []Object{empty},
			want: []string{
				"Waiting by StatefulSet foo/foo, NotReady since 100: 0 of 1 pods of StatefulSet foo/foo are of the declared version, and 0 are available",
				"kubectl describe statefulset -n foo foo",
			},
		},
		"PodsUnread": {reason: "It may have pods that may not be read.", objects: []Object{empty}, unread: []string{Pods}, want: []string{"unread Pods"}},
		"Canary":     {reason: "A StatefulSet with a partition keeps pods of an older version.", objects: []Object{canary}},
		"StatefulSet": {
			reason: "A StatefulSet reports what it cannot create in Events.",
			objects: []Object{
				&appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "foo", Name: "foo", UID: "foo"}},
				warningAbout("StatefulSet", "foo", "FailedCreate", "denied by a webhook"),
			},
			want: []string{
				"Broken by StatefulSet foo/foo, FailedCreate since 210: 0 of 1 pods of StatefulSet foo/foo are ready: denied by a webhook",
				"kubectl describe statefulset -n foo foo",
			},
		},
		"Paused": {
			reason: "A user who pauses a Deployment holds its update.",
			objects: slices.Concat([]Object{func() *appsv1.Deployment {
				out := deployment(1, 1, 0)
				out.Spec.Paused = true
				return out
			}()}, oldAndNew[:1], oldAndNew[2:]),
			want: []string{
				"Held by Deployment foo/foo, Paused since 0: Deployment foo/foo is paused, so its pods are not updated",
				"kubectl rollout resume deployment -n foo foo",
			},
		},
		"Stopped": {
			reason:  "An operator without pods does not run, whoever scaled it.",
			objects: []Object{deployment(0, 0, 0), &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "bar", Name: "bar"}}},
			want: []string{
				"Held by Deployment foo/foo, ScaledToZero since 0: Deployment foo/foo is scaled to no pods, so the operator does not run",
				"kubectl scale deployment -n foo foo --replicas=1",
			},
		},
		"Partly": {
			reason: "Some workloads of an operator need not run.",
			objects: []Object{deployment(0, 0, 0), &appsv1.StatefulSet{
				ObjectMeta: metav1.ObjectMeta{Namespace: "foo", Name: "other"}, Status: appsv1.StatefulSetStatus{Replicas: 1, UpdatedReplicas: 1, AvailableReplicas: 1},
			}},
		},
		"StoppedPart": {
			reason: "If an operator does not run and its other workloads do, the one without pods keeps it from running.",
			state:  operator.Installing,
			objects: []Object{deployment(0, 0, 0), &appsv1.StatefulSet{
				ObjectMeta: metav1.ObjectMeta{Namespace: "foo", Name: "other"}, Status: appsv1.StatefulSetStatus{Replicas: 1, UpdatedReplicas: 1, AvailableReplicas: 1},
			}},
			want: []string{
				"Held by Deployment foo/foo, ScaledToZero since 0: Deployment foo/foo is scaled to no pods, so the operator does not run",
				"kubectl scale deployment -n foo foo --replicas=1",
			},
		},
		"StoppedBeside": {
			reason: "Not while another is rolled out.",
			state:  operator.Installing,
			objects: []Object{deployment(0, 0, 0), &appsv1.StatefulSet{
				ObjectMeta: metav1.ObjectMeta{Namespace: "foo", Name: "other", CreationTimestamp: at(290)},
				Status:     appsv1.StatefulSetStatus{Replicas: 1, UpdatedReplicas: 1},
			}},
		},
		"Leaving": {
			reason:  "A pod that does not end is what its workload waits for.",
			objects: with(pod("new", func(p *corev1.Pod) { p.DeletionTimestamp, p.Finalizers = new(at(150)), []string{"example.com/f"} })),
			want: []string{
				"Waiting by Pod foo/new-1, Terminating since 150: 0 of 1 new pods of Deployment foo/foo are ready: the pod is being deleted, and has the " +
					"finalizers example.com/f", "kubectl describe pod -n foo new-1",
			},
		},
		"Unread":    {reason: "Nothing is concluded without pods.", objects: []Object{rollout}, unread: []string{Pods}, want: []string{"unread Pods"}},
		"UnreadToo": {reason: "Nor without Deployments.", unread: []string{Deployments}, want: []string{"unread Deployments"}},
		"Unfinished": {
			reason:     "An installation that takes long is not clear.",
			unfinished: unresolved,
			want:       []string{"Waiting by Subscription foo/foo, NotResolved since 200: nobody"},
		},
		"External": {
			reason: "Time does not change what it waits for.", second: 250,
			unfinished: &operator.Unfinished{Ref: unresolved.Ref, Reason: "Pending", Message: "too old", Since: at(200), External: true},
			want:       []string{"Waiting by Subscription foo/foo, Pending since 200: too old"},
		},
		"Begun": {
			reason: "One that has just begun may take a moment.", second: 250,
			unfinished: unresolved,
		},
		"FailedAndHeld": {
			reason: "A hold does not hide that something is broken.", blockers: []operator.Blocker{held},
			unfinished: failed,
			want: []string{
				"Broken by Subscription foo/foo, Retrying since 290: no such bundle", "Held by UpgradeHold audit, HeldByUser since 150: until Friday",
			},
		},
		"SlowAndHeld": {
			reason: "It tells why an update takes long.", blockers: []operator.Blocker{held},
			unfinished: unresolved,
			want:       []string{"Held by UpgradeHold audit, HeldByUser since 150: until Friday"},
		},
		"TimedOut": {
			reason: "A workload tells why an installation is given up.", objects: []Object{unseen}, unfinished: failed,
			want: []string{
				"Waiting by Deployment foo/foo, NotReconciled since 100: kube-controller-manager has not processed the last change of Deployment foo/foo: " +
					"check that it runs", "kubectl describe deployment -n foo foo",
			},
		},
		"InvalidAndWaiting": {
			reason: "It does not tell why a manifest is invalid.", objects: []Object{unseen},
			unfinished: &operator.Unfinished{Ref: unresolved.Ref, Reason: "BuildFailed", Message: "invalid", Since: at(290), Broken: true, Invalid: true},
			want: []string{
				"Broken by Subscription foo/foo, BuildFailed since 290: invalid",
				"Waiting by Deployment foo/foo, NotReconciled since 100: kube-controller-manager has not processed the last change of Deployment foo/foo: " +
					"check that it runs", "kubectl describe deployment -n foo foo",
			},
		},
		"FailedAndStopped": {
			reason: "A hold does not hide what is broken.", objects: []Object{deployment(0, 0, 0)}, unfinished: failed,
			want: []string{
				"Broken by Subscription foo/foo, Retrying since 290: no such bundle",
				"Held by Deployment foo/foo, ScaledToZero since 0: Deployment foo/foo is scaled to no pods, so the operator does not run",
				"kubectl scale deployment -n foo foo --replicas=1",
			},
		},
		"FailedAndBroken": {
			reason: "What is known to be broken tells why an update fails.", objects: with(evicted), blockers: []operator.Blocker{held},
			unfinished: failed,
			want: []string{
				"Broken by Pod foo/new-0, Evicted since 200: 0 of 1 new pods of Deployment foo/foo are ready: the pod has failed", "kubectl describe pod -n foo new-0",
				"Held by UpgradeHold audit, HeldByUser since 150: until Friday",
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			all := Installers{single{operator.Operator{
				Namespace: "foo", Name: "foo", State: cmp.Or(tc.state, operator.Running), Installed: "foo.v1", Blockers: tc.blockers, Unfinished: tc.unfinished,
			}}}
			c := Cluster{Objects: tc.objects, Unread: tc.unread}
			op := all.Explain(c, all.Operators(c), time.Unix(cmp.Or(tc.second, 300), 0))[0]
			var got []string
			for _, b := range op.Blockers {
				got = append(got, fmt.Sprintf("%s by %s, %s since %d: %s", b.Impact, b.By, b.Reason, max(b.Since.Unix(), 0), b.Cause))
				for _, s := range b.Steps {
					got = append(got, s.Command)
				}
			}
			if len(op.Unread) > 0 {
				got = append(got, "unread "+strings.Join(op.Unread, ", "))
			}
			if diff := gocmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
		})
	}
}

// TestState verifies whether an operator runs whose installer has seen it run.
func TestState(t *testing.T) {
	// lost returns a Deployment without an available pod, for a reason of its progress.
	lost := func(reason string, status corev1.ConditionStatus) *appsv1.Deployment {
		out := reporting(deployment(1, 1, 1), appsv1.DeploymentProgressing, status, reason, "")
		out.Status.AvailableReplicas = 0
		return out
	}
	ran, backOff := lost("NewReplicaSetAvailable", corev1.ConditionTrue), waitingFor("CrashLoopBackOff", "back-off 5m")
	set, crashed := replicaSet("new", "2"), pod("new", withContainer(backOff, 9, nil))
	other := deployment(1, 1, 1)
	other.Name = "other"
	for name, tc := range map[string]struct {
		reason  string
		objects []Object
		second  int64
		want    operator.State
	}{
		"Running":   {"Its pod is available.", []Object{deployment(1, 1, 1)}, 300, operator.Running},
		"Crashed":   {"It ran, and its pod does not start again.", []Object{ran, set, crashed}, 300, operator.Failed},
		"Restarted": {"A pod starts again somewhere else, however long it takes.", []Object{ran, set, pod("new", func(*corev1.Pod) {})}, 900, operator.Running},
		"Partly":    {"A webhook without pods is a failure of the operator.", []Object{other, ran, set, crashed}, 300, operator.Failed},
		"GivenUp":   {"Its new pods do not start.", []Object{lost("ProgressDeadlineExceeded", corev1.ConditionFalse)}, 300, operator.Failed},
		"Updating":  {"It replaces its only pod.", []Object{lost("ReplicaSetUpdated", corev1.ConditionTrue), set, crashed}, 300, operator.Running},
		"Stopped":   {"A user has scaled it down.", []Object{deployment(0, 0, 0)}, 300, operator.Stopped},
	} {
		t.Run(name, func(t *testing.T) {
			all := Installers{single{operator.Operator{Namespace: "foo", Name: "foo", State: operator.Running, Installed: "foo.v1"}}}
			c := Cluster{Objects: tc.objects}
			if got := all.Explain(c, all.Operators(c), time.Unix(tc.second, 0))[0].State; got != tc.want {
				t.Errorf("%s\ngot %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
}

// versions is an Installer with one operator, whose versions run in the workloads of their names.
type versions struct{ single }

func (versions) Runs(op operator.Operator, w Workload) bool {
	return w.Name == op.Installed || w.Name == op.Update
}

// TestStateOfUpdate verifies that an operator runs while the version before an update does.
func TestStateOfUpdate(t *testing.T) {
	for name, tc := range map[string]struct {
		reason    string
		installed bool // the workload of the version before exists
		want      operator.State
	}{
		"Beside":    {"The version before runs on in a Deployment of its own.", true, operator.Running},
		"TakenOver": {"The new version has the only Deployment.", false, operator.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			failed := reporting(deployment(1, 1, 1), appsv1.DeploymentProgressing, corev1.ConditionFalse, "ProgressDeadlineExceeded", "")
			failed.Name, failed.Status.AvailableReplicas = "v2", 0
			c := Cluster{Objects: []Object{failed}}
			if tc.installed {
				before := deployment(1, 1, 1)
				before.Name = "v1"
				c.Objects = append(c.Objects, before)
			}
			all := Installers{versions{single{operator.Operator{Namespace: "foo", Name: "foo", State: operator.Running, Installed: "v1", Update: "v2"}}}}
			if got := all.Explain(c, all.Operators(c), time.Unix(300, 0))[0].State; got != tc.want {
				t.Errorf("%s\ngot %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
}

// anywhere is an Installer with one operator, which runs in the workloads of any namespace that have its name.
type anywhere struct{ single }

func (anywhere) Runs(op operator.Operator, w Workload) bool { return op.Name == w.Name }

// TestElsewhere verifies that a workload in another namespace than that of its operator is explained.
func TestElsewhere(t *testing.T) {
	d := reporting(deployment(1, 0, 0), appsv1.DeploymentReplicaFailure, corev1.ConditionTrue, "FailedCreate", "exceeded quota: pods")
	d.Namespace = "bar"
	all, c := Installers{anywhere{single{operator.Operator{Namespace: "foo", Name: "foo", State: operator.Running}}}}, Cluster{Objects: []Object{d}}
	if got := all.Unsettled(c, all.Operators(c)); !slices.Equal(got, []string{"bar"}) {
		t.Errorf("pods are read in the namespaces %v, want bar", got)
	}
	if got := all.Explain(c, all.Operators(c), time.Unix(300, 0))[0].Blockers; len(got) != 1 || got[0].By != "Deployment bar/foo" {
		t.Errorf("it is blocked by %+v, want Deployment bar/foo", got)
	}
}
