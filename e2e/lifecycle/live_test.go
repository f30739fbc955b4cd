package lifecycle

import (
	"net/http"
	"strings"
	"testing"
	"time"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/faults"
	"github.com/operator-status/operator-status/internal/test/testcatalog"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// Names of the clients of a proxy.
const (
	reader = "reader"
	loops  = "loops"
)

// startBehindProxy starts the managers behind a proxy. The seed does not matter: the tests inject no random faults.
func startBehindProxy(t *testing.T) (*testcluster.Manager, *faults.Proxy) {
	t.Helper()
	proxy := faults.New(t, cluster.Config, 1)
	through := cluster.ThroughEach(proxy.Client(reader).Server, proxy.Client(loops).Server)
	return through.StartManager(t, "--catalog-dir="+t.TempDir()), proxy
}

// setMigrating sets Migrating of a custom resource.
func setMigrating(t *testing.T, o *unstructured.Unstructured, migrating metav1.ConditionStatus) {
	t.Helper()
	patch := `{"status":{"conditions":[{"type":"Migrating","status":"` + string(migrating) + `","reason":"Test","message":""}]}}`
	if err := cluster.Client.Status().Patch(t.Context(), o, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
}

// awaitAllowed waits until the Probe of a version has read a custom resource, and allows the update.
func (s *stage) awaitAllowed(t *testing.T, csv string) {
	t.Helper()
	probe := &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: csv}}
	s.await(t, probe, func() string {
		if !meta.IsStatusConditionTrue(probe.Status.Conditions, v1alpha1.ConditionUpgradeable) || probe.Status.Summary == nil || probe.Status.Summary.Total == 0 {
			return "it does not allow the update yet"
		}
		return ""
	})
}

// TestUpdateHeldWithoutCurrentReads verifies that an update waits for a custom resource whose change its Probe cannot have
// observed: the watch is silent, or reading fails, or the process that reads is frozen.
func TestUpdateHeldWithoutCurrentReads(t *testing.T) {
	refused := func(client string, code int) faults.Config {
		return faults.Config{Refused: []faults.Refusal{{Client: client, Resource: "unheards", Code: code, RetryAfter: 1}}}
	}
	cases := map[string]struct {
		reason string
		inject func(*testcluster.Manager, *faults.Proxy)
		end    func(*testcluster.Manager, *faults.Proxy)
		held   string
		words  []string
	}{
		"Silent": {
			reason: "A silent watch does not allow the update.",
			inject: func(_ *testcluster.Manager, p *faults.Proxy) {
				p.Set(faults.Config{Behind: map[string]time.Duration{"unheards": faults.Silent}})
			},
			held: v1alpha1.ReasonProbeNotUpgradeable, words: []string{"busy", "does not report it yet"},
		},
		"Unavailable": {
			reason: "The last status before reads failed does not allow the update.",
			inject: func(_ *testcluster.Manager, p *faults.Proxy) { p.Set(refused(reader, http.StatusServiceUnavailable)) },
			held:   v1alpha1.ReasonProbeNotUpgradeable, words: []string{"busy"},
		},
		"TooManyRequests": {
			reason: "Throttling by the API server does not allow the update.",
			inject: func(_ *testcluster.Manager, p *faults.Proxy) { p.Set(refused(reader, http.StatusTooManyRequests)) },
			held:   v1alpha1.ReasonProbeNotUpgradeable, words: []string{"busy"},
		},
		"UnreadableForAll": {
			reason: "Custom resources that no client can read do not allow the update.",
			inject: func(_ *testcluster.Manager, p *faults.Proxy) { p.Set(refused("", http.StatusServiceUnavailable)) },
			held:   v1alpha1.ReasonProbeNotRead,
		},
		"Frozen": {
			reason: "A reader that is frozen while its lease is valid does not allow the update.",
			inject: func(m *testcluster.Manager, _ *faults.Proxy) { m.Reader().Pause(t) },
			end:    func(m *testcluster.Manager, _ *faults.Proxy) { m.Reader().Resume(t) },
			held:   "", words: []string{"unheard-operator.v2.0.0"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			manager, proxy := startBehindProxy(t)
			s, sub, versions := installHolding(t, "unheard")
			custom := s.custom(t, "unheard", "busy", `[{type: Migrating, status: "False"}]`)
			s.awaitAllowed(t, versions[0].CSV())

			tc.inject(manager, proxy)
			setMigrating(t, custom, metav1.ConditionTrue)
			s.offer(t, publish(t, versions...))
			s.await(t, sub, func() string {
				c := sub.Status.GetCondition(v1alpha1.SubscriptionUpgradeHeld)
				if c.Status != "True" || tc.held != "" && c.Reason != tc.held {
					return tc.reason + " The condition UpgradeHeld is " + string(c.Status) + " " + c.Reason
				}
				for _, word := range tc.words {
					if !strings.Contains(c.Message, word) {
						return "the message does not contain " + word + ": " + c.Message
					}
				}
				return ""
			})
			s.checkAbsent(t, s.csv(versions[1].CSV()))

			proxy.Set(faults.Config{})
			if tc.end != nil {
				tc.end(manager, proxy)
			}
			s.awaitTrue(t, sub, v1alpha1.SubscriptionUpgradeHeld, v1alpha1.ReasonProbeNotUpgradeable, "busy")
			s.checkAbsent(t, s.csv(versions[1].CSV()))
			setMigrating(t, custom, metav1.ConditionFalse)
			s.awaitInstalled(t, sub, versions[1].CSV())
			manager.CheckAlive(t)
		})
	}
}

// TestFirstWriteFails verifies that an update whose first write fails is held if it is no longer allowed at the retry.
func TestFirstWriteFails(t *testing.T) {
	manager, proxy := startBehindProxy(t)
	s, sub, versions := installHolding(t, "unbegun")
	custom := s.custom(t, "unbegun", "busy", `[{type: Migrating, status: "False"}]`)
	s.awaitAllowed(t, versions[0].CSV())
	proxy.Set(faults.Config{Refused: []faults.Refusal{
		{Client: loops, Resource: "clusterserviceversions", Writes: true, Code: http.StatusInternalServerError},
	}})
	s.offer(t, publish(t, versions...))
	plans := &olm.InstallPlanList{}
	s.await(t, sub, func() string {
		if err := cluster.Client.List(t.Context(), plans, client.InNamespace(s.namespace)); err != nil {
			return err.Error()
		}
		for i := range plans.Items {
			if plans.Items[i].Status.GetCondition(olm.InstallPlanInstalled).Reason == v1alpha1.PlanReasonRetrying {
				return ""
			}
		}
		return "no InstallPlan has reason Retrying"
	})

	setMigrating(t, custom, metav1.ConditionTrue)
	probe := &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: versions[0].CSV()}}
	s.await(t, probe, func() string {
		if !meta.IsStatusConditionFalse(probe.Status.Conditions, v1alpha1.ConditionUpgradeable) {
			return "it still allows the update"
		}
		return ""
	})
	proxy.Set(faults.Config{})
	s.awaitTrue(t, sub, v1alpha1.SubscriptionUpgradeHeld, v1alpha1.ReasonProbeNotUpgradeable, "busy")
	s.checkAbsent(t, s.csv(versions[1].CSV()))
	setMigrating(t, custom, metav1.ConditionFalse)
	s.awaitInstalled(t, sub, versions[1].CSV())
	manager.CheckAlive(t)
}

// inNewNamespace returns another namespace whose operators come from the same catalog.
func (s *stage) inNewNamespace(t *testing.T, prefix string) *stage {
	t.Helper()
	out := &stage{namespace: cluster.Namespace(t, prefix), catalog: s.catalog}
	group := &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Namespace: out.namespace, Name: "group"}}
	group.Spec.TargetNamespaces = []string{out.namespace}
	cluster.Create(t, group)
	t.Cleanup(func() { beginDeletion(t, out.namespace) })
	return out
}

// TestStagedRollout verifies that an update is held by the expression of the running version, while another namespace has
// the next version installed, whose CustomResourceDefinition has another expression or none.
func TestStagedRollout(t *testing.T) {
	for name, later := range map[string]string{"other": "Ready", "none": ""} {
		t.Run(name, func(t *testing.T) {
			cluster.StartManager(t, "--catalog-dir="+t.TempDir())
			pkg := "staged" + name
			first, second := testcatalog.Foo{Name: pkg, Version: "1.0.0", Upgradeable: "!Old"}, testcatalog.Foo{Name: pkg, Version: "2.0.0", Upgradeable: later}
			s := newStage(t, pkg, publish(t, first))
			sub := s.subscribe(t, pkg)
			s.awaitInstalled(t, sub, first.CSV())
			custom := s.custom(t, pkg, "busy", `[{type: Old, status: "True"}]`)
			s.offer(t, publish(t, first, second))
			s.awaitTrue(t, sub, v1alpha1.SubscriptionUpgradeHeld, v1alpha1.ReasonProbeNotUpgradeable, "busy")

			other := s.inNewNamespace(t, pkg+"-other")
			other.awaitInstalled(t, other.subscribe(t, pkg), second.CSV())
			probe := &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: first.CSV()}}
			s.await(t, probe, func() string {
				c := meta.FindStatusCondition(probe.Status.Conditions, v1alpha1.ConditionAnnotationsDiffer)
				if c == nil || !strings.Contains(c.Message, `instead of "!Old"`) {
					return "it does not report that the definition has other annotations"
				}
				return ""
			})
			s.awaitTrue(t, sub, v1alpha1.SubscriptionUpgradeHeld, v1alpha1.ReasonProbeNotUpgradeable, "busy")
			s.checkAbsent(t, s.csv(second.CSV()))

			t.Log("a recreated Probe keeps the expression of the running version")
			if err := cluster.Client.Delete(t.Context(), probe); err != nil {
				t.Fatal(err)
			}
			s.await(t, probe, func() string {
				if !meta.IsStatusConditionFalse(probe.Status.Conditions, v1alpha1.ConditionUpgradeable) {
					return "it does not hold the update"
				}
				return ""
			})
			s.checkAbsent(t, s.csv(second.CSV()))
			patch := `{"status":{"conditions":[{"type":"Old","status":"False","reason":"Test","message":""}]}}`
			if err := cluster.Client.Status().Patch(t.Context(), custom, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
				t.Fatal(err)
			}
			s.awaitInstalled(t, sub, second.CSV())
		})
	}
}

// TestReinstallAfterUninstall verifies that an operator that was uninstalled is not installed again in another version while
// the custom resources that it left do not allow that; in the same version it is.
func TestReinstallAfterUninstall(t *testing.T) {
	cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	s, sub, versions := installHolding(t, "again")
	custom := s.custom(t, "again", "busy", `[{type: Migrating, status: "True"}]`)
	s.await(t, &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: versions[0].CSV()}}, func() string { return "" })
	s.offer(t, publish(t, versions...))
	s.awaitTrue(t, sub, v1alpha1.SubscriptionUpgradeHeld, v1alpha1.ReasonProbeNotUpgradeable, "busy")

	s.uninstall(t, versions[0].CSV())
	s.awaitTrue(t, sub, v1alpha1.SubscriptionUpgradeHeld, v1alpha1.ReasonProbeNotUpgradeable, "busy", "was uninstalled", v1alpha1.AnnotationAllowUpgrade)
	s.checkAbsent(t, s.csv(versions[1].CSV()))

	t.Log("reinstalling the same version")
	s.offer(t, publish(t, versions[0]))
	s.await(t, sub, func() string { // a plan for the other version may be created until the catalog has been read again
		s.deletePlans(t)
		if sub.Status.CurrentCSV != versions[0].CSV() {
			return "its currentCSV is " + sub.Status.CurrentCSV
		}
		return ""
	})
	s.awaitInstalled(t, sub, versions[0].CSV())
	s.offer(t, publish(t, versions...))
	s.awaitTrue(t, sub, v1alpha1.SubscriptionUpgradeHeld, v1alpha1.ReasonProbeNotUpgradeable, "busy")

	t.Log("reinstalling another version once the custom resource allows it")
	s.uninstall(t, versions[0].CSV())
	s.awaitTrue(t, sub, v1alpha1.SubscriptionUpgradeHeld, v1alpha1.ReasonProbeNotUpgradeable, "was uninstalled")
	setMigrating(t, custom, metav1.ConditionFalse)
	s.awaitInstalled(t, sub, versions[1].CSV())
}

// uninstall deletes a CSV and all InstallPlans, as a user with the ClusterRole edit can.
func (s *stage) uninstall(t *testing.T, csv string) {
	t.Helper()
	old := s.csv(csv)
	if err := cluster.Client.Delete(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	cluster.AwaitGone(t, old)
	s.deletePlans(t)
}

func (s *stage) deletePlans(t *testing.T) {
	t.Helper()
	if err := cluster.Client.DeleteAllOf(t.Context(), &olm.InstallPlan{}, client.InNamespace(s.namespace)); err != nil {
		t.Fatal(err)
	}
}
