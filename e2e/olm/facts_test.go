package olm

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/testcatalog"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// The tests TestFact… verify the facts about OLM that operator-status relies on. They run no manager. Each logs its
// measurements and fails if OLM behaves differently, to show the changes in a new OLM: go test -v -run TestFact ./e2e/olm.

// TestFactResolverOverwritesStatus verifies that OLM keeps conditions of types that it does not know, but that its
// resolver writes the status of every Subscription in the namespace from a read before it began. A condition that is added
// meanwhile is lost; a later one is kept. So the bridge waits for restAfterOLM before it writes.
func TestFactResolverOverwritesStatus(t *testing.T) {
	const subscriptions, apart = 10, 100 * time.Millisecond
	var packages []testcatalog.Package
	for i := range subscriptions {
		packages = append(packages, publish(t, fmt.Sprintf("written%c", 'a'+i), "1.0.0"))
	}
	s := newStage(t, "overwritten", packages...)
	var subs []*v1alpha1.Subscription
	for _, p := range packages {
		subs = append(subs, s.subscribe(t, p.Name, func(sub *v1alpha1.Subscription) {
			if len(subs) == 0 {
				sub.Spec.Channel = "none" // an unresolvable Subscription keeps OLM from installing any
			}
		}))
	}
	s.awaitIdle(t)
	addConditions(t, subs, "Before")
	s.awaitIdle(t)

	start := time.Now()
	patch(t, subs[0], `{"spec":{"channel":"neither"}}`)
	var delays []time.Duration
	for i, sub := range subs {
		time.Sleep(time.Until(start.Add(time.Duration(i) * apart))) // the test varies when a condition is added
		addCondition(t, sub, "During")
		delays = append(delays, time.Since(start).Round(10*time.Millisecond))
	}
	s.awaitIdle(t)
	cluster.Await(t, subs[0], func() string { // the resolver may be silent while it has not begun
		if c := subs[0].Status.GetCondition(v1alpha1.SubscriptionResolutionFailed); !strings.Contains(c.Message, "neither") {
			return "it has not been resolved again"
		}
		return ""
	})
	s.awaitIdle(t)
	last := s.lastWrite(t, start)
	addConditions(t, subs, "After")
	s.awaitIdle(t)

	lost := map[v1alpha1.SubscriptionConditionType][]time.Duration{}
	for i, sub := range subs {
		get(t, sub)
		for _, added := range []v1alpha1.SubscriptionConditionType{"Before", "During", "After"} {
			if sub.Status.GetCondition(added).Status != corev1.ConditionTrue {
				lost[added] = append(lost[added], delays[i])
			}
		}
	}
	t.Logf("of %d conditions each, OLM lost %d added before a change of a spec, %d added after it at %v, which were those at %v, and %d added later; it last wrote after %s",
		subscriptions, len(lost["Before"]), len(lost["During"]), delays, lost["During"], len(lost["After"]), last.Sub(start).Round(10*time.Millisecond))
	if len(lost["Before"])+len(lost["After"]) > 0 {
		t.Error("OLM does not keep conditions of types that it does not know")
	}
	if len(lost["During"]) == 0 {
		t.Error("OLM overwrote no condition: restAfterOLM of internal/installer/olmv0/controller is no longer needed")
	}
}

// TestFactOperatorConditionHoldsAfterInstallPlan verifies that OLM checks the OperatorCondition of the running version
// only after it has run the InstallPlan. During the hold, the Subscription is AtLatestKnown with the pending version as
// installedCSV, the CustomResourceDefinition is the new one, OLM sends requests without a pause, and no other
// Subscription in the namespace resolves. After the hold, failed resolutions may persist until a change wakes the
// resolver, as the bridge does when it reports that nothing is held.
func TestFactOperatorConditionHoldsAfterInstallPlan(t *testing.T) {
	s := newStage(t, "late", publish(t, "asked", "1.0.0"), publish(t, "beside", "1.0.0"), publish(t, "next", "1.0.0"))
	sub, beside := s.subscribe(t, "asked"), s.subscribe(t, "beside")
	s.awaitSucceeded(t, csvOf("asked", "1.0.0"))
	s.awaitSucceeded(t, csvOf("beside", "1.0.0"))
	s.setUpgradeable(t, csvOf("asked", "1.0.0"), metav1.ConditionFalse)
	before := definition(t, "asked")
	s.offer(t, packageWithCRDChange(t, "asked"), publish(t, "beside", "1.0.0"), publish(t, "next", "1.0.0"))
	message := s.awaitHeldByOLM(t, csvOf("asked", "1.1.0"))
	cluster.Await(t, sub, func() string {
		if sub.Status.State != olm.SubscriptionStateAtLatest || sub.Status.InstalledCSV != csvOf("asked", "1.1.0") {
			return fmt.Sprintf("while its update is held its state is %s, with %s installed", sub.Status.State, sub.Status.InstalledCSV)
		}
		return ""
	})
	plan := s.awaitPlan(t, sub)
	cluster.Await(t, plan, func() string { // it applies the objects a moment before it sets the phase
		if plan.Status.Phase != olm.InstallPlanPhaseComplete {
			return fmt.Sprintf("while the update is held the InstallPlan is %s", plan.Status.Phase)
		}
		return ""
	})
	if definition(t, "asked").Generation == before.Generation {
		t.Error("while the update is held the CustomResourceDefinition is the old one")
	}
	rate, of := s.awaitRequests(t, 100, "get")
	next := s.subscribe(t, "next")
	for _, each := range []*v1alpha1.Subscription{sub, beside, next} {
		cluster.Await(t, each, func() string {
			if c := each.Status.GetCondition(v1alpha1.SubscriptionResolutionFailed); c.Status != corev1.ConditionTrue {
				return fmt.Sprintf("its resolution does not fail while another update is held: %+v", c)
			}
			return ""
		})
	}
	t.Logf("held with %q: AtLatestKnown, InstallPlan Complete, new CustomResourceDefinition, %.0f GETs/s (%s), ResolutionFailed on all 3 Subscriptions: %s",
		message, rate, of, next.Status.GetCondition(v1alpha1.SubscriptionResolutionFailed).Message)
	s.setUpgradeable(t, csvOf("asked", "1.0.0"), metav1.ConditionTrue)
	s.awaitSucceeded(t, csvOf("asked", "1.1.0"))
	s.awaitIdle(t)
	get(t, next)
	t.Logf("when OLM rests after the hold, the Subscription that failed is %q with ResolutionFailed=%s", next.Status.State,
		next.Status.GetCondition(v1alpha1.SubscriptionResolutionFailed).Status)
	annotate(t, next, "wake", "resolver")
	s.awaitSucceeded(t, csvOf("next", "1.0.0"))
}

// TestFactRemovedConditionHoldsForEver verifies that OLM copies the conditions in an OperatorCondition's spec to its
// status, and holds an update while the status is of another generation. A removed condition is never copied again, so
// the gate sets its condition to True instead of removing it.
func TestFactRemovedConditionHoldsForEver(t *testing.T) {
	s := newStage(t, "removed", publish(t, "removed", "1.0.0"))
	s.subscribe(t, "removed")
	running := csvOf("removed", "1.0.0")
	s.awaitSucceeded(t, running)
	s.setUpgradeable(t, running, metav1.ConditionTrue)
	condition := s.operatorCondition(running)
	patch(t, condition, `{"spec":{"conditions":null}}`)
	s.offer(t, publish(t, "removed", "1.0.0", "1.1.0"))
	message := s.awaitHeldByOLM(t, csvOf("removed", "1.1.0"))
	if !strings.Contains(message, "is outdated") {
		t.Errorf("the update is held with another message than \"is outdated\": %s", message)
	}
	rate, of := s.awaitRequests(t, 100, "get") // so many retries show that OLM is not merely late
	s.awaitHeldByOLM(t, csvOf("removed", "1.1.0"))
	get(t, condition)
	status := meta.FindStatusCondition(condition.Status.Conditions, operatorsv2.Upgradeable)
	if status == nil || status.ObservedGeneration == condition.Generation {
		t.Errorf("the condition in status is not of an earlier generation:\n%s", testcluster.Print(condition))
	}
	t.Logf("held, since Upgradeable=%s was observed at generation %d of %d: %s; %.0f GETs/s (%s)",
		status.Status, status.ObservedGeneration, condition.Generation, message, rate, of)
	s.setUpgradeable(t, running, metav1.ConditionTrue)
	s.awaitSucceeded(t, csvOf("removed", "1.1.0"))
}

// TestFactOneManualSubscription verifies that with one Manual Subscription in a namespace, OLM requires approval for
// every InstallPlan there, even for one that installs nothing for that Subscription.
func TestFactOneManualSubscription(t *testing.T) {
	s := newStage(t, "manual", publish(t, "strict", "1.0.0"), publish(t, "free", "1.0.0"))
	strict := s.subscribe(t, "strict", withManualApproval)
	approve(t, s.awaitPlan(t, strict))
	s.awaitSucceeded(t, csvOf("strict", "1.0.0"))
	free := s.subscribe(t, "free")
	plan := s.awaitPlan(t, free)
	cluster.Await(t, plan, func() string {
		if plan.Spec.Approval != olm.ApprovalManual || plan.Spec.Approved || plan.Status.Phase != olm.InstallPlanPhaseRequiresApproval {
			return "its InstallPlan does not need approval"
		}
		return ""
	})
	t.Logf("the InstallPlan for %v of an Automatic Subscription is %s", plan.Spec.ClusterServiceVersionNames, plan.Status.Phase)
	if !slices.Equal(plan.Spec.ClusterServiceVersionNames, []string{csvOf("free", "1.0.0")}) {
		t.Errorf("the InstallPlan installs other CSVs, too:\n%s", testcluster.Print(plan))
	}
	approve(t, plan)
	s.awaitSucceeded(t, csvOf("free", "1.0.0"))
}

// TestFactCatalogRunsNothing verifies that OLM installs inlined bundles from a CatalogSource with an address, and
// creates no Pod for the catalog and no Job or ConfigMap to unpack bundles. The comparisons rely on it.
func TestFactCatalogRunsNothing(t *testing.T) {
	start := time.Now()
	s := newStage(t, "inlined", publish(t, "inlined", "1.0.0"))
	sub := s.subscribe(t, "inlined")
	s.awaitSucceeded(t, csvOf("inlined", "1.0.0"))
	made := map[string]int{}
	for _, r := range cluster.RequestsOf(t, start, byOLM...) {
		if r.Verb == "create" && r.ObjectRef.Namespace == s.namespace {
			made[r.ObjectRef.Resource]++
		}
	}
	t.Logf("OLM created %v", made)
	for _, resource := range []string{"pods", "jobs", "configmaps"} {
		if made[resource] > 0 {
			t.Errorf("OLM created %s for a bundle without an image", resource)
		}
	}
	jobs := &batchv1.JobList{}
	if err := cluster.Client.List(t.Context(), jobs, client.InNamespace(s.namespace)); err != nil || len(jobs.Items) > 0 {
		t.Errorf("OLM created %d Jobs: %v", len(jobs.Items), err)
	}
	get(t, sub)
	for _, kind := range []v1alpha1.SubscriptionConditionType{"BundleUnpacking", "BundleUnpackFailed"} {
		if c := sub.Status.GetCondition(kind); c.Status == corev1.ConditionTrue {
			t.Errorf("the InstallPlan has bundles to unpack: %+v", c)
		}
	}
}

// awaitSucceeded waits until a ClusterServiceVersion has Succeeded.
func (s *stage) awaitSucceeded(t *testing.T, name string) {
	t.Helper()
	csv := s.csv(name)
	cluster.Await(t, csv, func() string {
		if csv.Status.Phase != olm.CSVPhaseSucceeded {
			return fmt.Sprintf("it is %s (%s): %s", csv.Status.Phase, csv.Status.Reason, csv.Status.Message)
		}
		return ""
	})
}

// awaitHeldByOLM waits until OLM holds a version because of the previous version's OperatorCondition, and returns OLM's
// message.
func (s *stage) awaitHeldByOLM(t *testing.T, name string) string {
	t.Helper()
	csv := s.csv(name)
	cluster.Await(t, csv, func() string {
		if csv.Status.Phase != olm.CSVPhasePending || csv.Status.Reason != olm.CSVReasonOperatorConditionNotUpgradeable {
			return fmt.Sprintf("it is %s (%s): %s", csv.Status.Phase, csv.Status.Reason, csv.Status.Message)
		}
		return ""
	})
	return csv.Status.Message
}

func (s *stage) operatorCondition(csv string) *operatorsv2.OperatorCondition {
	return &operatorsv2.OperatorCondition{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: csv}}
}

// setUpgradeable sets Upgradeable in the OperatorCondition of a version and waits until OLM has observed it.
func (s *stage) setUpgradeable(t *testing.T, csv string, status metav1.ConditionStatus) {
	t.Helper()
	o := s.operatorCondition(csv)
	cluster.Await(t, o, func() string { return "" }) // OLM creates it once the version exists
	patch(t, o, fmt.Sprintf(`{"spec":{"conditions":[{"type":%q,"status":%q,"reason":"Test","message":"a test sets it","lastTransitionTime":%q}]}}`,
		operatorsv2.Upgradeable, status, time.Now().UTC().Format(time.RFC3339)))
	cluster.Await(t, o, func() string {
		if c := meta.FindStatusCondition(o.Status.Conditions, operatorsv2.Upgradeable); c == nil || c.Status != status || c.ObservedGeneration != o.Generation {
			return fmt.Sprintf("OLM has not read generation %d: %+v", o.Generation, c)
		}
		return ""
	})
}

// awaitRequests waits until OLM has sent that many requests in the namespace. It returns their rate and the top resources.
func (s *stage) awaitRequests(t *testing.T, many int, verb string) (perSecond float64, of string) {
	t.Helper()
	start, resources, seen := time.Now(), map[string]int{}, 0
	err := wait.PollUntilContextTimeout(t.Context(), 200*time.Millisecond, testcluster.Timeout, false, func(context.Context) (bool, error) {
		clear(resources)
		seen = 0
		for _, r := range cluster.RequestsOf(t, start, byOLM...) {
			if r.Verb == verb && r.ObjectRef.Namespace == s.namespace {
				seen++
				resources[r.ObjectRef.Resource]++
				perSecond = float64(seen) / r.Received.Sub(start).Seconds()
			}
		}
		return seen >= many, nil
	})
	if err != nil {
		t.Fatalf("OLM sent %d requests to %s, want %d: it no longer retries without a pause: %v", seen, verb, many, resources)
	}
	most := slices.SortedFunc(maps.Keys(resources), func(a, b string) int { return resources[b] - resources[a] })
	for i, name := range most[:min(3, len(most))] {
		most[i] = fmt.Sprintf("%d%% %s", 100*resources[name]/seen, name)
	}
	return perSecond, strings.Join(most[:min(3, len(most))], ", ")
}

// awaitIdle waits until OLM is idle.
func (s *stage) awaitIdle(t *testing.T) {
	t.Helper()
	cluster.AwaitIdle(t, 2*time.Second, byOLM...)
}

// lastWrite returns when OLM last wrote to a Subscription in the namespace.
func (s *stage) lastWrite(t *testing.T, since time.Time) (last time.Time) {
	t.Helper()
	for _, r := range cluster.RequestsOf(t, since, byOLM...) {
		if r.IsWrite() && r.ObjectRef.Resource == "subscriptions" && r.ObjectRef.Namespace == s.namespace {
			last = r.Received.Time
		}
	}
	return last
}

// addCondition appends a condition of a type that OLM does not know to the status of a Subscription.
func addCondition(t *testing.T, sub *v1alpha1.Subscription, kind v1alpha1.SubscriptionConditionType) {
	t.Helper()
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		get(t, sub)
		sub.Status.SetCondition(v1alpha1.SubscriptionCondition{Type: kind, Status: corev1.ConditionTrue, Reason: "Test"})
		return cluster.Client.Status().Update(t.Context(), sub)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func addConditions(t *testing.T, subs []*v1alpha1.Subscription, kind v1alpha1.SubscriptionConditionType) {
	t.Helper()
	for _, sub := range subs {
		addCondition(t, sub, kind)
	}
}

func get(t *testing.T, o client.Object) {
	t.Helper()
	if err := cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
		t.Fatal(err)
	}
}

func patch(t *testing.T, o client.Object, merge string) {
	t.Helper()
	if err := cluster.Client.Patch(t.Context(), o, client.RawPatch(types.MergePatchType, []byte(merge))); err != nil {
		t.Fatal(err)
	}
}
