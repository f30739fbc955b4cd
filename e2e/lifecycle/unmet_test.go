package lifecycle

import (
	"testing"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/builder"
	"github.com/operator-status/operator-status/internal/test/testcatalog"
)

// TestUpdateWithUnmetRequirements verifies that an update to a version that could not run here changes nothing: the running
// version stays Succeeded, with its definitions, until the catalog has a version that can run, or the cluster meets the
// requirements of the new one.
func TestUpdateWithUnmetRequirements(t *testing.T) {
	cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	for name, tc := range map[string]struct {
		reason string
		change func(csv *unstructured.Unstructured)
		words  string
	}{
		"kubernetes": {"The version requires a newer Kubernetes.", func(csv *unstructured.Unstructured) {
			_ = unstructured.SetNestedField(csv.Object, "99.0.0", "spec", "minKubeVersion")
		}, "requires Kubernetes 99.0.0"},
		"mode": {"The version does not support the OperatorGroup.", func(csv *unstructured.Unstructured) {
			modes := []any{map[string]any{"type": "AllNamespaces", "supported": true}}
			_ = unstructured.SetNestedSlice(csv.Object, modes, "spec", "installModes")
		}, "does not support OperatorGroup"},
		"native": {"The version requires an API that is not served.", func(csv *unstructured.Unstructured) {
			apis := []any{map[string]any{"group": "missing.example.com", "version": "v1", "kind": "Missing"}}
			_ = unstructured.SetNestedSlice(csv.Object, apis, "spec", "nativeAPIs")
		}, "missing.example.com/v1, Kind=Missing is not served"},
	} {
		t.Run(name, func(t *testing.T) {
			pkg := "unmet" + name
			foo := func(version string) testcatalog.Foo { return testcatalog.Foo{Name: pkg, Version: version} }
			v1, v2, v3 := foo("1.0.0"), foo("2.0.0"), foo("3.0.0")
			v2.Change = func(csv, crd *unstructured.Unstructured) {
				tc.change(csv)
				crd.SetLabels(map[string]string{"version": "2"})
			}
			s := newStage(t, pkg, publish(t, v1))
			sub := s.subscribe(t, pkg)
			s.awaitInstalled(t, sub, v1.CSV())

			s.offer(t, publish(t, v1, v2))
			s.awaitTrue(t, sub, v1alpha1.SubscriptionInstallPlanPending, v1alpha1.PlanReasonRequirementsNotMet, tc.words)
			s.checkAbsent(t, s.csv(v2.CSV()))
			running := s.csv(v1.CSV())
			if err := cluster.Client.Get(t.Context(), s.key(running.Name), running); err != nil || running.Status.Phase != olm.CSVPhaseSucceeded {
				t.Errorf("%s\nThe phase of the running version is %s, want Succeeded: %v", tc.reason, running.Status.Phase, err)
			}
			crd := &apiextensions.CustomResourceDefinition{}
			if err := cluster.Client.Get(t.Context(), types.NamespacedName{Name: v1.CRD()}, crd); err != nil || crd.Labels["version"] != "" {
				t.Errorf("%s\nThe CustomResourceDefinition of the running version has changed: labels %v, error %v", tc.reason, crd.Labels, err)
			}

			s.offer(t, publish(t, v1, v3))
			s.awaitInstalled(t, sub, v3.CSV())
			cluster.AwaitGone(t, running)
		})
	}
}

// TestUpdateAfterRequirementMet verifies that an update waits for a requirement and continues once it is met.
func TestUpdateAfterRequirementMet(t *testing.T) {
	cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	v1, v2 := testcatalog.Foo{Name: "later", Version: "1.0.0"}, testcatalog.Foo{Name: "later", Version: "2.0.0"}
	v2.Change = func(csv, _ *unstructured.Unstructured) {
		_ = unstructured.SetNestedSlice(csv.Object, []any{map[string]any{"group": "arrives.example.com", "version": "v1", "kind": "Arrival"}}, "spec", "nativeAPIs")
	}
	s := newStage(t, "later", publish(t, v1))
	sub := s.subscribe(t, "later")
	s.awaitInstalled(t, sub, v1.CSV())
	s.offer(t, publish(t, v1, v2))
	s.awaitTrue(t, sub, v1alpha1.SubscriptionInstallPlanPending, v1alpha1.PlanReasonRequirementsNotMet, "Kind=Arrival is not served")
	cluster.Apply(t, "", builder.CRD("arrivals", "arrives.example.com"))
	t.Cleanup(func() {
		remove(t, &apiextensions.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "arrivals.arrives.example.com"}})
	})
	s.awaitInstalled(t, sub, v2.CSV())
}
