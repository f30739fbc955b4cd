package installer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/internal/operator"
)

// podTrouble is why a pod is not ready.
type podTrouble struct {
	operator.Ref

	impact          operator.Impact
	reason, message string
	since           metav1.Time

	// certain is true if it does not end by itself within a moment, as after a start.
	certain bool

	steps []operator.Step // beyond describing the pod
}

// inTime are the reasons for which a container waits without anything being wrong.
var inTime = []string{"", "ContainerCreating", "PodInitializing"}

// troubleOf returns why a pod is not ready. A failure that the kubelet retries is Broken as well: it rarely ends without a user.
func troubleOf(pod *corev1.Pod, c Cluster) podTrouble {
	out := podTrouble{
		Ref: operator.Ref{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name}, impact: operator.Waiting, reason: "NotReady", since: pod.CreationTimestamp,
	}
	if ready := podCondition(pod, corev1.PodReady); ready != nil {
		out.since = ready.LastTransitionTime
	}
	switch scheduled := podCondition(pod, corev1.PodScheduled); {
	case pod.DeletionTimestamp != nil:
		out.reason, out.since = ReasonTerminating, *pod.DeletionTimestamp
		out.message = "the pod is being deleted" + after(" from node ", pod.Spec.NodeName)
		if len(pod.Finalizers) > 0 {
			out.message += ", and has the finalizers " + strings.Join(pod.Finalizers, ", ")
		}
		return out
	case pod.Status.Phase == corev1.PodFailed:
		out.impact, out.certain, out.reason = operator.Broken, true, cmp.Or(pod.Status.Reason, "Failed")
		out.message = "the pod has failed" + after(": ", pod.Status.Message)
		return out
	case scheduled != nil && scheduled.Status == corev1.ConditionFalse:
		out.impact, out.certain, out.since = operator.Broken, true, scheduled.LastTransitionTime
		out.reason = cmp.Or(scheduled.Reason, corev1.PodReasonUnschedulable)
		out.message = "the pod is Pending: " + scheduled.Message
		if scheduled.Reason == corev1.PodReasonSchedulingGated {
			out.impact = operator.Held
		}
		return out
	}
	if slices.ContainsFunc(slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses), out.ofContainer) {
		return out
	}
	if e := lastWarning(c, out.Ref); e != nil && !lastSeen(e).Time.Before(lastProgress(pod)) {
		out.reason, out.since, out.message = e.Reason, firstSeen(e), e.Message
		if e.Reason != "Unhealthy" { // of a probe, which a container that has just started may fail
			out.impact = operator.Broken
		}
		return out
	}
	if node := pod.Spec.NodeName; node != "" && pod.Status.StartTime == nil {
		out.message = fmt.Sprintf("the kubelet of node %s has not begun to start the pod", node)
		out.steps = []operator.Step{operator.Describe("To see its node", "node", "", node)}
		return out
	}
	out.message = fmt.Sprintf("the pod is %s, and not ready", cmp.Or(pod.Status.Phase, corev1.PodPending))
	return out
}

// lastProgress returns when a pod was scheduled, or its last container began to run: a warning from before is over.
func lastProgress(pod *corev1.Pod) time.Time {
	var out time.Time
	if scheduled := podCondition(pod, corev1.PodScheduled); scheduled != nil {
		out = scheduled.LastTransitionTime.Time
	}
	for _, s := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if s.State.Running != nil && s.State.Running.StartedAt.After(out) {
			out = s.State.Running.StartedAt.Time
		}
	}
	return out
}

// ofContainer sets the trouble of a container, and reports whether it has any.
func (t *podTrouble) ofContainer(s corev1.ContainerStatus) bool {
	logs := func(flags string) {
		t.steps = []operator.Step{{To: "To see its log", Command: operator.Command("kubectl logs -n %s %s -c %s", t.Namespace, t.Name, s.Name) + flags}}
	}
	waiting, ended, last := s.State.Waiting, s.State.Terminated, s.LastTerminationState.Terminated
	switch {
	case waiting != nil && !slices.Contains(inTime, waiting.Reason):
		t.reason = waiting.Reason
		t.message = fmt.Sprintf("container %s waits%s", s.Name, after(": ", waiting.Message))
		if last != nil {
			t.message = fmt.Sprintf("container %s was restarted %d times; last it %s", s.Name, s.RestartCount, ending(last))
			logs(" --previous")
		}
	case ended != nil && ended.ExitCode != 0:
		t.reason, t.since = cmp.Or(ended.Reason, "Error"), ended.FinishedAt
		t.message = fmt.Sprintf("container %s %s", s.Name, ending(ended))
		logs("")
	case s.RestartCount > 1 && !s.Ready && last != nil: // it runs, for now
		t.reason, t.since = cmp.Or(last.Reason, "Error"), last.FinishedAt
		t.message = fmt.Sprintf("container %s was restarted %d times; last it %s", s.Name, s.RestartCount, ending(last))
		logs(" --previous")
	default:
		return false
	}
	t.impact, t.certain = operator.Broken, true
	return true
}

// ending describes how a container ended.
func ending(s *corev1.ContainerStateTerminated) string {
	return fmt.Sprintf("ended with exit code %d", s.ExitCode) + after(" and reason ", s.Reason) + after(": ", s.Message)
}

// after returns a text after a prefix, or nothing if it is empty.
func after(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

// hasEnded reports whether none of a pod's containers runs again. Its ReplicaSet creates another pod, and does not delete it.
func hasEnded(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
}

func isReady(pod *corev1.Pod) bool {
	c := podCondition(pod, corev1.PodReady)
	return pod.DeletionTimestamp == nil && c != nil && c.Status == corev1.ConditionTrue
}

func podCondition(pod *corev1.Pod, t corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == t {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}
