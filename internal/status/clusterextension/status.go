// Package clusterextension computes the conditions that a ClusterExtension of OLM v1 has in addition to those of operator-controller. It
// is pure.
package clusterextension

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer"
	"github.com/operator-status/operator-status/internal/messages"
	"github.com/operator-status/operator-status/internal/operator"
)

// Limits of a message.
const (
	mostNamed      = 5    // workloads
	longestMessage = 4096 // bytes
)

// Inputs holds everything that the conditions depend on, as read at one moment.
type Inputs struct {
	Generation int64

	// Conditions are all that it has.
	Conditions []metav1.Condition

	// Workloads are those that it installed.
	Workloads []installer.Workload

	// Holds are the UpgradeHolds of its operator.
	Holds []holdv1alpha1.UpgradeHold

	Now metav1.Time
}

// Compute returns the conditions. Their transition times change only with their statuses.
func Compute(in Inputs) []metav1.Condition {
	running, held := in.running(), in.held()
	out := []metav1.Condition{running, in.upToDate(running, held), held}
	for i := range out {
		c := &out[i]
		c.ObservedGeneration, c.LastTransitionTime = in.Generation, in.Now
		if before := meta.FindStatusCondition(in.Conditions, c.Type); before != nil && before.Status == c.Status {
			c.LastTransitionTime = before.LastTransitionTime
		}
	}
	return out
}

func (in Inputs) running() metav1.Condition {
	out := metav1.Condition{Type: holdv1alpha1.ConditionExtensionRunning, Status: metav1.ConditionUnknown, Reason: holdv1alpha1.ReasonNoWorkloads}
	if len(in.Workloads) == 0 {
		out.Message = "It has no Deployment, StatefulSet or DaemonSet"
		return out
	}
	out.Status, out.Reason = metav1.ConditionTrue, holdv1alpha1.ReasonWorkloadsAvailable
	if unavailable := in.named(func(w installer.Workload) bool { return w.State != operator.Running }); unavailable != "" {
		out.Status, out.Reason = metav1.ConditionFalse, holdv1alpha1.ReasonWorkloadsUnavailable
		out.Message = "No replica is available of " + unavailable
	}
	return out
}

// named returns the names of some of the workloads, or empty.
func (in Inputs) named(some func(installer.Workload) bool) string {
	var out []string
	for _, w := range in.Workloads {
		if some(w) {
			out = append(out, w.String())
		}
	}
	slices.Sort(out)
	return messages.List(out, mostNamed, ", ")
}

func (in Inputs) held() metav1.Condition {
	out := metav1.Condition{Type: holdv1alpha1.ConditionExtensionUpgradeHeld, Status: metav1.ConditionFalse, Reason: holdv1alpha1.ReasonNotHeld}
	holds := slices.Clone(in.Holds)
	slices.SortFunc(holds, func(a, b holdv1alpha1.UpgradeHold) int { return strings.Compare(a.Name, b.Name) })
	var causes []string
	for _, h := range holds {
		held := meta.FindStatusCondition(h.Status.Conditions, holdv1alpha1.ConditionHeld)
		if held == nil || held.Status != metav1.ConditionTrue || !h.DeletionTimestamp.IsZero() {
			continue
		}
		if len(causes) == 0 {
			out.Status, out.Reason = metav1.ConditionTrue, held.Reason
		}
		cause := fmt.Sprintf("UpgradeHold %s: %s", h.Name, held.Message)
		if c := meta.FindStatusCondition(h.Status.Conditions, holdv1alpha1.ConditionEnforced); c != nil && c.Status != metav1.ConditionTrue {
			cause += " (not enforced: " + c.Reason + ")"
		}
		causes = append(causes, cause)
	}
	out.Message = messages.Clip(strings.Join(causes, "; "), longestMessage)
	return out
}

// upToDate returns the condition UpToDate. operator-controller resolves anew whenever a catalog changes, and is Progressing with the reason
// Succeeded once it has applied the objects of that version, whose pods may not start while those of an older one run. The message has no
// counts: it is not written anew with each pod.
func (in Inputs) upToDate(running, held metav1.Condition) metav1.Condition {
	out := metav1.Condition{Type: holdv1alpha1.ConditionExtensionUpToDate, Status: metav1.ConditionUnknown, Reason: holdv1alpha1.ReasonNewestNotKnown}
	outdated := in.named(func(w installer.Workload) bool { return w.Outdated })
	progressing := meta.FindStatusCondition(in.Conditions, "Progressing")
	switch {
	case progressing == nil || progressing.ObservedGeneration != in.Generation:
		out.Message = "operator-controller has not resolved its spec yet"
	case held.Status == metav1.ConditionTrue && installer.ReportsDenied(progressing.Message):
		out.Status, out.Reason, out.Message = metav1.ConditionFalse, holdv1alpha1.ReasonNewestDoesNotRun, "Its update is held"
	case progressing.Reason != "Succeeded":
		out.Message = fmt.Sprintf("Progressing is %s (%s)", progressing.Status, progressing.Reason)
	case running.Status == metav1.ConditionFalse:
		out.Status, out.Reason, out.Message = metav1.ConditionFalse, holdv1alpha1.ReasonNewestDoesNotRun, running.Message
	case outdated != "":
		out.Status, out.Reason = metav1.ConditionFalse, holdv1alpha1.ReasonNewestDoesNotRun
		out.Message = "The newest version is not rolled out to all pods of " + outdated
	default:
		out.Status, out.Reason = metav1.ConditionTrue, holdv1alpha1.ReasonNewestRuns
	}
	return out
}
