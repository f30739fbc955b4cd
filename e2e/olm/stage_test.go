package olm

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/operator-framework/operator-registry/alpha/declcfg"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/testcatalog"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// stage is a namespace with its own OperatorGroup and catalog, which isolates tests from each other.
type stage struct {
	namespace string
	folder    string // of the catalog
}

const catalogName = "catalog"

func newStage(t *testing.T, prefix string, packages ...testcatalog.Package) *stage {
	t.Helper()
	cluster.RemoveCRDs(t)
	return anotherStage(t, prefix, packages...)
}

// anotherStage is newStage beside other stages of a test, whose CustomResourceDefinitions stay.
func anotherStage(t *testing.T, prefix string, packages ...testcatalog.Package) *stage {
	t.Helper()
	s := &stage{namespace: cluster.Namespace(t, prefix), folder: filepath.Join(t.TempDir(), "catalog")}
	t.Cleanup(func() {
		if t.Failed() {
			s.logState(t)
		}
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}}
		if err := cluster.Client.Delete(context.Background(), namespace); err != nil {
			t.Error(err)
		}
	})
	group := &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "group"}}
	group.Spec.TargetNamespaces = []string{s.namespace}
	cluster.Create(t, group)
	s.offer(t, packages...)
	t.Cleanup(func() { s.stopServing(t) })
	return s
}

// offer replaces the contents of the catalog with packages and waits until OLM has connected to it.
func (s *stage) offer(t *testing.T, packages ...testcatalog.Package) {
	t.Helper()
	config, err := testcatalog.Config(packages...)
	if err != nil {
		t.Fatal(err)
	}
	s.offerConfig(t, config)
}

// offerConfig is offer with a catalog as it is.
func (s *stage) offerConfig(t *testing.T, config declcfg.DeclarativeConfig) {
	t.Helper()
	if err := testcatalog.WriteConfig(s.folder, config); err != nil {
		t.Fatal(err)
	}
	if err := testcluster.Devcluster(t.Context(), "catalog", "--dir="+clusterDir, s.namespace, s.folder); err != nil {
		t.Fatal(err)
	}
	source := cluster.CatalogSource(t, clusterDir, s.namespace, s.key(catalogName))
	cluster.Await(t, source, func() string {
		if state := source.Status.GRPCConnectionState; state == nil || state.LastObservedState != "READY" {
			return fmt.Sprintf("its connection is %+v", state)
		}
		return ""
	})
}

func (s *stage) stopServing(t *testing.T) {
	t.Helper()
	if err := testcluster.Devcluster(context.Background(), "catalog", "--dir="+clusterDir, "--stop", s.namespace); err != nil {
		t.Error(err)
	}
}

// publish returns a package whose annotation holds an update while a custom resource is Migrating.
func publish(t *testing.T, name string, versions ...string) testcatalog.Package {
	t.Helper()
	return testcatalog.Published(t, testcatalog.Holding(name, versions...)...)
}

// packageWithCRDChange returns two versions of a package, the second with a different CustomResourceDefinition.
func packageWithCRDChange(t *testing.T, name string) testcatalog.Package {
	t.Helper()
	first := testcatalog.Foo{Name: name, Version: "1.0.0", Upgradeable: "!Migrating"}
	second := first
	second.Version = "1.1.0"
	second.Change = func(_, crd *unstructured.Unstructured) {
		version := crd.Object["spec"].(map[string]any)["versions"].([]any)[0].(map[string]any)
		version["schema"].(map[string]any)["openAPIV3Schema"].(map[string]any)["description"] = "as of 1.1.0"
	}
	return testcatalog.Published(t, first, second)
}

// csvOf returns the name of a version's ClusterServiceVersion.
func csvOf(name, version string) string { return testcatalog.Foo{Name: name, Version: version}.CSV() }

// subscribe creates a Subscription with the name of its package.
func (s *stage) subscribe(t *testing.T, pkg string, change ...func(*v1alpha1.Subscription)) *v1alpha1.Subscription {
	t.Helper()
	sub := &v1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: pkg}}
	sub.Spec = &olm.SubscriptionSpec{Package: pkg, Channel: "stable", CatalogSource: catalogName, CatalogSourceNamespace: s.namespace}
	for _, c := range change {
		c(sub)
	}
	cluster.Create(t, sub)
	return sub
}

func withManualApproval(sub *v1alpha1.Subscription) {
	sub.Spec.InstallPlanApproval = olm.ApprovalManual
}

// withApprovalGate leaves the approval of updates to operator-status.
func withApprovalGate(sub *v1alpha1.Subscription) {
	withManualApproval(sub)
	sub.Labels = map[string]string{v1alpha1.LabelGate: v1alpha1.GateApproval}
}

// awaitRunning waits until a Subscription reports that a version runs and is the newest, without problems.
func (s *stage) awaitRunning(t *testing.T, sub *v1alpha1.Subscription, csv string) {
	t.Helper()
	cluster.Await(t, sub, func() string { // conditions about an earlier version remain for two seconds
		if c := sub.Status.GetCondition(v1alpha1.SubscriptionUpToDate); sub.Status.CurrentCSV != csv || !strings.HasPrefix(c.Message, csv+" ") {
			return fmt.Sprintf("OLM's currentCSV is %q: %s", sub.Status.CurrentCSV, c.Message)
		}
		return ""
	})
	s.awaitConditions(t, sub, map[v1alpha1.SubscriptionConditionType]string{
		v1alpha1.SubscriptionUpToDate:                          "True " + v1alpha1.ReasonNewestRuns,
		v1alpha1.SubscriptionUpgradeHeld:                       "False " + v1alpha1.ReasonNotHeld,
		v1alpha1.SubscriptionInstalledCSVReplacementAvailable:  "False " + v1alpha1.ReasonNoReplacementAvailable,
		v1alpha1.SubscriptionInstallPlanAwaitingManualApproval: "False " + v1alpha1.ReasonNotAwaitingApproval,
		v1alpha1.SubscriptionInstalledCSVFailed:                "False " + v1alpha1.ReasonCSVNotFailed,
		v1alpha1.SubscriptionInstalledCSVMissing:               "False " + v1alpha1.ReasonCSVPresent,
		v1alpha1.SubscriptionCatalogSourceInvalid:              "False " + v1alpha1.ReasonCatalogSourceValid,
		v1alpha1.SubscriptionPackageChannelInvalid:             "False " + v1alpha1.ReasonPackageChannelValid,
	})
	found := s.csv(csv)
	if err := cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(found), found); err != nil || found.Status.Phase != olm.CSVPhaseSucceeded {
		t.Fatalf("the Subscription reports that %s runs, but it does not: error %v, phase %s", csv, err, found.Status.Phase)
	}
}

// awaitConditions waits until the conditions of a Subscription have these statuses and reasons.
func (s *stage) awaitConditions(t *testing.T, sub *v1alpha1.Subscription, want map[v1alpha1.SubscriptionConditionType]string) {
	t.Helper()
	cluster.Await(t, sub, func() string {
		var wrong []string
		for kind, w := range want {
			c := sub.Status.GetCondition(kind)
			if got := strings.TrimSpace(string(c.Status) + " " + c.Reason); got != w {
				wrong = append(wrong, fmt.Sprintf("%s is %s, want %s: %s", kind, got, w, c.Message))
			}
		}
		slices.Sort(wrong)
		return strings.Join(wrong, "\n")
	})
}

// checkMessage checks that the message of a condition contains the words.
func checkMessage(t *testing.T, sub *v1alpha1.Subscription, kind v1alpha1.SubscriptionConditionType, words ...string) {
	t.Helper()
	message := sub.Status.GetCondition(kind).Message
	for _, w := range words {
		if !strings.Contains(message, w) {
			t.Errorf("the message of %s does not contain %q: %s", kind, w, message)
		}
	}
}

// createMigrating creates a custom resource of a package that is Migrating.
func (s *stage) createMigrating(t *testing.T, pkg string) *unstructured.Unstructured {
	t.Helper()
	_, group, _ := strings.Cut(testcatalog.Foo{Name: pkg}.CRD(), ".")
	out := &unstructured.Unstructured{}
	out.SetAPIVersion(group + "/v1")
	out.SetKind(strings.ToUpper(pkg[:1]) + pkg[1:])
	out.SetNamespace(s.namespace)
	out.SetName("example")
	cluster.Rediscovered(t).Apply(t, s.namespace, fmt.Sprintf(
		"apiVersion: %s\nkind: %s\nmetadata: {name: example}\nstatus: {conditions: [{type: Migrating, status: \"True\"}]}\n", out.GetAPIVersion(), out.GetKind()))
	return out
}

// finishMigration sets Migrating of a custom resource to False.
func finishMigration(t *testing.T, o *unstructured.Unstructured) {
	t.Helper()
	setMigrating(t, o, metav1.ConditionFalse)
}

func setMigrating(t *testing.T, o *unstructured.Unstructured, status metav1.ConditionStatus) {
	t.Helper()
	patch := `{"status":{"conditions":[{"type":"Migrating","status":"` + string(status) + `","reason":"Test","message":""}]}}`
	if err := cluster.Rediscovered(t).Client.Status().Patch(t.Context(), o, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
}

// awaitNotUpgradeable waits until the Probe of a version reports that it is not upgradeable.
func (s *stage) awaitNotUpgradeable(t *testing.T, csv string) {
	t.Helper()
	s.awaitProbe(t, csv, "Upgradeable=False/NotUpgradeable")
}

// awaitProbe waits until the Probe of a version has the conditions, each as "Type=Status/Reason".
func (s *stage) awaitProbe(t *testing.T, csv string, conditions ...string) {
	t.Helper()
	probe := &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: csv}}
	cluster.Await(t, probe, func() string { return testcluster.Lacking(probe.Status.Conditions, conditions...) })
}

func (s *stage) key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: s.namespace, Name: name}
}

func (s *stage) csv(name string) *v1alpha1.ClusterServiceVersion {
	return &v1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}}
}

// awaitPlan waits until a Subscription refers to an InstallPlan and returns it.
func (s *stage) awaitPlan(t *testing.T, sub *v1alpha1.Subscription) *olm.InstallPlan {
	t.Helper()
	cluster.Await(t, sub, func() string {
		if sub.Status.InstallPlanRef == nil {
			return "it refers to no InstallPlan"
		}
		return ""
	})
	out := &olm.InstallPlan{}
	if err := cluster.Client.Get(t.Context(), s.key(sub.Status.InstallPlanRef.Name), out); err != nil {
		t.Fatal(err)
	}
	return out
}

// logState logs the state of a namespace.
func (s *stage) logState(t *testing.T) {
	t.Helper()
	ctx := context.Background()
	subs, plans, csvs := &v1alpha1.SubscriptionList{}, &olm.InstallPlanList{}, &v1alpha1.ClusterServiceVersionList{}
	probes := &v1alpha1.ProbeList{}
	for _, list := range []client.ObjectList{subs, plans, csvs, probes} {
		if err := cluster.Client.List(ctx, list, client.InNamespace(s.namespace)); err != nil {
			t.Log(err)
		}
	}
	for _, i := range subs.Items {
		t.Logf("Subscription %s current=%s installed=%s state=%s plan=%v", i.Name, i.Status.CurrentCSV, i.Status.InstalledCSV, i.Status.State,
			i.Status.InstallPlanRef)
		for _, c := range i.Status.Conditions {
			t.Logf("    %s=%s (%s) %s", c.Type, c.Status, c.Reason, c.Message)
		}
	}
	for _, i := range plans.Items {
		t.Logf("InstallPlan %s %v %s approval=%s approved=%v: %s %+v", i.Name, i.Spec.ClusterServiceVersionNames, i.Status.Phase, i.Spec.Approval, i.Spec.Approved,
			i.Status.Message, i.Status.Conditions)
	}
	for _, i := range csvs.Items {
		t.Logf("CSV %s replaces=%s %s (%s): %s", i.Name, i.Spec.Replaces, i.Status.Phase, i.Status.Reason, i.Status.Message)
	}
	for _, i := range probes.Items {
		t.Logf("Probe %s %+v", i.Name, i.Status.Conditions)
	}
}
