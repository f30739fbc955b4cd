package olm

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/manager"
)

// TestChurn verifies that our conditions are written at most once after OLM's last write, and overwrite nothing of
// OLM's. While a Subscription's spec changes, OLM overwrites its status from an earlier read.
func TestChurn(t *testing.T) {
	m := cluster.StartManager(t)
	s := newStage(t, "churn", publish(t, "churn", "1.0.0"))
	sub := s.subscribe(t, "churn")
	s.awaitRunning(t, sub, csvOf("churn", "1.0.0"))

	start := time.Now()
	for i := range 100 {
		channel := "stable"
		if i%2 == 1 {
			channel = "unstable"
		}
		patch := fmt.Sprintf(`{"spec":{"channel":%q,"config":{"env":[{"name":"ROUND","value":"%d"}]}}}`, channel, i)
		if err := cluster.Client.Patch(t.Context(), sub, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
			t.Fatal(err)
		}
	}
	s.awaitConditions(t, sub, map[v1alpha1.SubscriptionConditionType]string{
		v1alpha1.SubscriptionPackageChannelInvalid:   "True " + v1alpha1.ReasonChannelNotFound,
		v1alpha1.SubscriptionUpToDate:                "False " + v1alpha1.ReasonNewestNotKnown,
		v1alpha1.SubscriptionResolutionFailed:        "True ConstraintsNotSatisfiable", // set by OLM
		v1alpha1.SubscriptionCatalogSourcesUnhealthy: "False AllCatalogSourcesHealthy",
	})
	cluster.AwaitIdle(t, 5*time.Second, manager.UserAgent)
	var before, after, refused, theirs int
	var last time.Time
	for _, r := range cluster.RequestsOf(t, start, "") {
		if r.ObjectRef.Resource != "subscriptions" || r.ObjectRef.Name != sub.Name || r.ObjectRef.Namespace != s.namespace || !r.IsWrite() {
			continue
		}
		switch {
		case r.By(manager.UserAgent) && r.IsConflict():
			refused++ // OLM wrote first
		case r.By(manager.UserAgent):
			after++
			t.Logf("request of operator-status: %s", r)
		case r.By("olm/") || r.By("catalog/"):
			theirs, before, after, last = theirs+1, before+after, 0, r.Received.Time
		}
	}
	t.Logf("100 changes of the spec: OLM wrote %d times, last %.1f s after the first change; operator-status wrote %d times before that and %d times after, with %d conflicts",
		theirs, last.Sub(start).Seconds(), before, after, refused)
	if after > 1 {
		t.Errorf("operator-status wrote %d times after OLM's last write, want at most once", after)
	}
	m.CheckAlive(t)
}
