package olm

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/testcatalog"
)

// TestPodsNotReady verifies with OLM alone that the command line names the pod that keeps a first installation from ending, and the new pod
// that keeps an update from it, which OLM reports as constraints that are not satisfiable.
func TestPodsNotReady(t *testing.T) {
	first, second := testcatalog.Foo{Name: "new", Version: "1.0.0"}, testcatalog.Foo{Name: "new", Version: "1.1.0", Change: testcatalog.Unschedulable}
	s := newStage(t, "pods", testcatalog.Published(t, first), testcatalog.Published(t, testcatalog.Foo{Name: "never", Version: "1.0.0", Change: testcatalog.Unschedulable}))
	never := s.subscribe(t, "never")
	awaitWhy(t, never, 3, "Broken by Pod "+s.namespace+"/never-operator-", "(Unschedulable)", "0 of 1 pods of Deployment "+s.namespace+"/never-operator are ready",
		"nodes are available", "kubectl describe pod -n "+s.namespace+" never-operator-")

	updated := anotherStage(t, "updated", testcatalog.Published(t, first))
	sub := updated.subscribe(t, "new")
	awaitWhy(t, sub, 0, first.CSV()+" is running, and is up to date. Nothing blocks it.")
	updated.offer(t, testcatalog.Published(t, first, second))
	words := []string{"Broken by Pod " + sub.Namespace + "/new-operator-", "0 of 1 new pods of Deployment " + sub.Namespace + "/new-operator are ready"}
	awaitWhy(t, sub, 3, words...)
	cluster.Await(t, sub, func() string {
		c := sub.Status.GetCondition(v1alpha1.SubscriptionResolutionFailed)
		if c.Status != corev1.ConditionTrue || !strings.Contains(c.Message, "originate from package") {
			return "OLM does not report that two versions exist: " + c.Message
		}
		return ""
	})
	if text := awaitWhy(t, sub, 3, words...); strings.Contains(text, "ConstraintsNotSatisfiable") {
		t.Errorf("why names a consequence of the update as a cause:\n%s", text)
	}
	cluster.StartManager(t)
	cluster.Await(t, sub, func() string {
		c := sub.Status.GetCondition(v1alpha1.SubscriptionUpToDate)
		if c.Status != corev1.ConditionFalse || strings.Contains(c.Message, "constraints") || !strings.Contains(c.Message, second.CSV()) {
			return "UpToDate is " + string(c.Status) + ": " + c.Message
		}
		return ""
	})
	awaitWhy(t, sub, 3, words...)
}
