package lifecycle

import (
	"strings"
	"testing"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/testcatalog"
)

// TestPreviewOfPlan verifies that an InstallPlan that waits for approval has the changes of its update: images, rights, and the custom
// resource that would become invalid.
func TestPreviewOfPlan(t *testing.T) {
	cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	const name = "previewed"
	foo := func(version string, least float64, image string, rules ...any) testcatalog.Foo {
		return testcatalog.Foo{Name: name, Version: version, Change: func(csv, crd *unstructured.Unstructured) {
			testcatalog.SetLeastSize(crd, least)
			spec, _, _ := unstructured.NestedMap(csv.Object, "spec", "install", "spec")
			permission := spec["clusterPermissions"].([]any)[0].(map[string]any)
			permission["rules"] = append(permission["rules"].([]any), rules...)
			pod := spec["deployments"].([]any)[0].(map[string]any)["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
			pod["containers"].([]any)[0].(map[string]any)["image"] = image
			_ = unstructured.SetNestedMap(csv.Object, spec, "spec", "install", "spec")
		}}
	}
	secrets := map[string]any{"apiGroups": []any{""}, "resources": []any{"secrets"}, "verbs": []any{"get", "list"}}
	v1, v2 := foo("1.0.0", 1, "example.com/foo:1"), foo("2.0.0", 5, "example.com/foo:2", secrets)
	s := newStage(t, name, publish(t, v1))
	sub := s.subscribe(t, name)
	s.awaitInstalled(t, sub, v1.CSV())
	small := s.custom(t, name, "small", "[]")
	s.patch(t, small, `{"spec":{"size":1}}`)
	s.patch(t, sub, `{"spec":{"installPlanApproval":"Manual"}}`)
	s.offer(t, publish(t, v1, v2))
	plan := s.awaitPlanFor(t, sub, v2.CSV())
	const changes = "Images: - example.com/foo:1; + example.com/foo:2. Rights: + get, list secrets in all namespaces"
	checkPreview(t, plan, corev1.ConditionFalse, v1alpha1.PlanReasonCRDUpdateUnsafe, v1.CRD(), "small", changes)

	s.patch(t, small, `{"spec":{"size":7}}`)
	deleteAndWait(t, plan)
	checkPreview(t, s.awaitPlanFor(t, sub, v2.CSV()), corev1.ConditionTrue, v1alpha1.ReasonCustomResourcesValid, changes)
}

// awaitPlanFor waits for the InstallPlan of a Subscription that waits for approval, for a version.
func (s *stage) awaitPlanFor(t *testing.T, sub *v1alpha1.Subscription, csv string) *olm.InstallPlan {
	t.Helper()
	var out *olm.InstallPlan
	cluster.Await(t, sub, func() string {
		if sub.Status.InstallPlanRef == nil {
			return "it has no InstallPlan"
		}
		out = &olm.InstallPlan{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: sub.Status.InstallPlanRef.Name}}
		switch err := cluster.Client.Get(t.Context(), s.key(out.Name), out); {
		case err != nil:
			return err.Error()
		case out.Status.Phase != olm.InstallPlanPhaseRequiresApproval || !strings.Contains(strings.Join(out.Spec.ClusterServiceVersionNames, " "), csv):
			return "its InstallPlan is " + string(out.Status.Phase)
		}
		return ""
	})
	return out
}

func checkPreview(t *testing.T, plan *olm.InstallPlan, status corev1.ConditionStatus, reason string, words ...string) {
	t.Helper()
	if len(plan.Status.BundleLookups) != 1 || len(plan.Status.BundleLookups[0].Conditions) != 1 {
		t.Fatalf("the bundles are %+v", plan.Status.BundleLookups)
	}
	got := plan.Status.BundleLookups[0].Conditions[0]
	if got.Type != v1alpha1.ConditionCompatible || got.Status != status || got.Reason != reason {
		t.Errorf("the condition is %+v", got)
	}
	for _, w := range words {
		if !strings.Contains(got.Message, w) {
			t.Errorf("the message lacks %q: %s", w, got.Message)
		}
	}
}
