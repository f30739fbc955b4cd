package lifecycle

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/testcatalog"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// TestRejectedUpdate verifies that an update changes nothing if one of its objects is rejected by the API server or our
// own checks, and that the Subscription reports it. It succeeds once the cause is fixed and the InstallPlan is deleted.
func TestRejectedUpdate(t *testing.T) {
	cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	for name, tc := range map[string]struct {
		reason string
		foo    func(name, version string) testcatalog.Foo
		before func(t *testing.T, s *stage, name string) (mend func())
		want   string
		words  []string
	}{
		"unsafe": {
			reason: "The new CustomResourceDefinition makes an existing custom resource invalid.",
			foo: func(name, version string) testcatalog.Foo {
				return testcatalog.Foo{Name: name, Version: version, Change: func(_, crd *unstructured.Unstructured) {
					testcatalog.SetLeastSize(crd, map[string]float64{"1.0.0": 1, "2.0.0": 5}[version])
				}}
			},
			before: func(t *testing.T, s *stage, name string) func() {
				small := s.custom(t, name, "small", "[]")
				s.patch(t, small, `{"spec":{"size":1}}`)
				return func() { s.patch(t, small, `{"spec":{"size":7}}`) }
			},
			want: v1alpha1.PlanReasonCRDUpdateUnsafe, words: []string{"small", "delete this InstallPlan"},
		},
		"rejected": {
			reason: "The API server rejects only the last object of the InstallPlan.",
			foo: func(name, version string) testcatalog.Foo {
				out := testcatalog.Foo{Name: name, Version: version}
				if version == "2.0.0" {
					out.More = []string{"apiVersion: v1\nkind: Service\nmetadata: {name: last}\nspec: {ports: [{port: 0}]}\n"}
				}
				return out
			},
			want: v1alpha1.PlanReasonComponentFailed, words: []string{"Service last", "spec.ports[0].port"},
		},
		"unserved": {
			reason: "The API server no longer serves the kind of an object.",
			foo: func(name, version string) testcatalog.Foo {
				out := testcatalog.Foo{Name: name, Version: version}
				if version == "2.0.0" {
					out.More = []string{"apiVersion: apiextensions.k8s.io/v1beta1\nkind: CustomResourceDefinition\nmetadata: {name: olds.example.com}\nspec: {group: example.com}\n"}
				}
				return out
			},
			want: v1alpha1.PlanReasonKindNotServed, words: []string{"apiextensions.k8s.io/v1beta1", "CustomResourceDefinition"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			name := "refuse" + name
			v1, v2 := tc.foo(name, "1.0.0"), tc.foo(name, "2.0.0")
			s := newStage(t, name, publish(t, v1))
			sub := s.subscribe(t, name)
			s.awaitInstalled(t, sub, v1.CSV())
			mend := func() {}
			if tc.before != nil {
				mend = tc.before(t, s, name)
			}
			before := s.snapshot(t, name)
			s.offer(t, publish(t, v1, v2))
			s.awaitTrue(t, sub, v1alpha1.SubscriptionInstallPlanFailed, tc.want, tc.words...)
			if sub.Status.UpToDate || sub.Status.InstalledCSV != v1.CSV() || !strings.Contains(sub.Status.Message, tc.words[0]) {
				t.Errorf("%s The status of the Subscription is wrong: %+v", tc.reason, sub.Status)
			}
			if after := s.snapshot(t, name); after != before {
				t.Errorf("%s The rejected update changed objects:\nbefore:\n%s\nafter:\n%s", tc.reason, before, after)
			}
			if tc.before == nil {
				return // an invalid bundle can only be fixed by its author
			}
			mend()
			refused := sub.Status.InstallPlanRef.Name
			deleteAndWait(t, &olm.InstallPlan{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: refused}})
			s.awaitInstalled(t, sub, v2.CSV())
			cluster.AwaitEvent(t, s.namespace, v1alpha1.ReasonReferencedInstallPlanNotFound, "InstallPlan "+refused+" was deleted")
		})
	}
}

// TestSelectorChanged verifies that a Deployment whose immutable selector changes is replaced, which the CSV reports.
func TestSelectorChanged(t *testing.T) {
	cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	foo := func(version string) testcatalog.Foo {
		return testcatalog.Foo{Name: "selector", Version: version, Change: func(csv, _ *unstructured.Unstructured) {
			deployments, _, _ := unstructured.NestedSlice(csv.Object, "spec", "install", "spec", "deployments")
			labels := map[string]any{"app": "selector", "version": version}
			spec := deployments[0].(map[string]any)["spec"].(map[string]any)
			_ = unstructured.SetNestedMap(spec, labels, "selector", "matchLabels")
			_ = unstructured.SetNestedMap(spec, labels, "template", "metadata", "labels")
			_ = unstructured.SetNestedSlice(csv.Object, deployments, "spec", "install", "spec", "deployments")
		}}
	}
	s := newStage(t, "selector", publish(t, foo("1.0.0")))
	sub := s.subscribe(t, "selector")
	s.awaitInstalled(t, sub, foo("1.0.0").CSV())
	former := &appsv1.Deployment{}
	if err := cluster.Client.Get(t.Context(), s.key("selector-operator"), former); err != nil {
		t.Fatal(err)
	}
	s.offer(t, publish(t, foo("1.0.0"), foo("2.0.0")))
	s.awaitInstalled(t, sub, foo("2.0.0").CSV())
	s.checkDeployment(t, "selector-operator", "example.com/selector-operator:2.0.0", foo("2.0.0").CSV())
	csv := s.csv(foo("2.0.0").CSV())
	s.await(t, csv, func() string {
		for _, transition := range csv.Status.LastTransitions {
			if strings.Contains(transition.Message, "Recreating Deployment selector-operator") {
				return ""
			}
		}
		return fmt.Sprintf("its status does not report that the Deployment was recreated: %+v", csv.Status.LastTransitions)
	})
	pods := &corev1.PodList{}
	if err := cluster.Client.List(t.Context(), pods, client.InNamespace(s.namespace), client.MatchingLabels{"version": "1.0.0"}); err != nil ||
		len(pods.Items) > 0 {
		t.Errorf("pods of the old version are left: %v %+v", err, pods.Items)
	}
}

// TestQuota verifies that an object that exceeds a quota is retried and the Subscription reports why it waits.
func TestQuota(t *testing.T) {
	cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	f := testcatalog.Foo{Name: "quota", Version: "1.0.0", More: []string{"apiVersion: v1\nkind: Service\nmetadata: {name: more}\nspec: {ports: [{port: 80}]}\n"}}
	s := newStage(t, "quota", publish(t, f))
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "none"}}
	quota.Spec.Hard = corev1.ResourceList{corev1.ResourceServices: resource.MustParse("0")}
	cluster.Create(t, quota)
	s.await(t, quota, func() string {
		if len(quota.Status.Hard) == 0 {
			return "the quota has no effect yet"
		}
		return ""
	})
	sub := s.subscribe(t, "quota")
	s.awaitTrue(t, sub, v1alpha1.SubscriptionInstallPlanPending, v1alpha1.PlanReasonForbidden, "exceeded quota", "Service")
	if !strings.Contains(sub.Status.Message, "exceeded quota") {
		t.Errorf("the message of the Subscription does not contain \"exceeded quota\": %q", sub.Status.Message)
	}
	s.checkAbsent(t, s.csv(f.CSV()))
	s.patch(t, quota, `{"spec":{"hard":{"services":"1"}}}`)
	s.awaitInstalled(t, sub, f.CSV())
}

// TestFailingSubscriptionInSameNamespace verifies that a problem with one Subscription does not delay younger ones in its
// namespace.
func TestFailingSubscriptionInSameNamespace(t *testing.T) {
	cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	s := newStage(t, "neighbour", publish(t, testcatalog.Foo{Name: "elder", Version: "1.0.0"}), publish(t, testcatalog.Foo{Name: "junior", Version: "1.0.0"}))
	createPolicy(t, s.namespace, fmt.Sprintf(`apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: %[1]s}
spec:
  failurePolicy: Fail
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %[1]s}}
    resourceRules:
    - {apiGroups: [operators.coreos.com], apiVersions: [v1alpha1], resources: [installplans], operations: [CREATE]}
  validations:
  - {expression: '!object.metadata.ownerReferences.exists(o, o.name == "elder")', message: not this one}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: %[1]s}
spec: {policyName: %[1]s, validationActions: [Deny]}
`, s.namespace))
	s.subscribe(t, "elder")
	s.awaitInstalled(t, s.subscribe(t, "junior"), "junior-operator.v1.0.0")
}

// createPolicy creates an admission policy with that name and waits until it takes effect.
func createPolicy(t *testing.T, name, policy string) {
	t.Helper()
	cluster.Apply(t, "", policy)
	for _, kind := range []string{"ValidatingAdmissionPolicyBinding", "ValidatingAdmissionPolicy"} {
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind}}
		o.SetName(name)
		t.Cleanup(func() { deleteAndWait(t, o) })
	}
	plan := &olm.InstallPlan{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "refused"}}
	plan.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "elder", UID: "none"}}
	plan.Spec = olm.InstallPlanSpec{Approval: olm.ApprovalManual, ClusterServiceVersionNames: []string{}}
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, testcluster.Timeout, true, func(ctx context.Context) (bool, error) {
		return apierrors.IsInvalid(cluster.Client.Create(ctx, plan.DeepCopy(), client.DryRunAll)), nil
	})
	if err != nil {
		t.Fatalf("the admission policy does not take effect: %v", err)
	}
}

// TestTerminatingTarget verifies that an operator with a terminating target namespace waits and reports why.
func TestTerminatingTarget(t *testing.T) {
	cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	f := testcatalog.Foo{Name: "ending", Version: "1.0.0"}
	s := newStage(t, "ending", publish(t, f))
	target := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: cluster.Namespace(t, "target")}}
	stuck := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: target.Name, Name: "stuck", Finalizers: []string{"example.com/stuck"}}}
	cluster.Create(t, stuck)
	t.Cleanup(func() { s.patch(t, stuck, `{"metadata":{"finalizers":null}}`) })
	if err := cluster.Client.Delete(t.Context(), target); err != nil {
		t.Fatal(err)
	}
	s.setTargets(t, target.Name, s.namespace)
	sub := s.subscribe(t, "ending")
	s.await(t, sub, func() string {
		if !strings.Contains(sub.Status.Message, "being terminated") {
			return "its message is " + sub.Status.Message
		}
		return ""
	})
	if sub.Status.State == olm.SubscriptionStateFailed {
		t.Errorf("the Subscription is reported as failed while it waits for the namespace: %+v", sub.Status)
	}
	s.setTargets(t, s.namespace)
	s.awaitInstalled(t, sub, f.CSV())
}

// TestBrokenConversionWebhook verifies that a kind whose conversion webhook does not respond blocks only its dependents.
// Objects of the kind that an old CSV owns are handed over in the API version that needs no conversion. If that is not
// served, the old CSV stays until they can be handed over, without its Deployment, while others are installed and updated.
func TestBrokenConversionWebhook(t *testing.T) {
	cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	foo := func(version string) testcatalog.Foo { return testcatalog.Foo{Name: "converted", Version: version} }
	renamed, newest := foo("3.0.0"), foo("4.0.0")
	renamed.Change = func(csv, _ *unstructured.Unstructured) {
		deployments, _, _ := unstructured.NestedSlice(csv.Object, "spec", "install", "spec", "deployments")
		deployments[0].(map[string]any)["name"] = "renamed"
		_ = unstructured.SetNestedSlice(csv.Object, deployments, "spec", "install", "spec", "deployments")
	}
	newest.Change = renamed.Change
	s := newStage(t, "converted", publish(t, foo("1.0.0")))
	sub := s.subscribe(t, "converted")
	s.awaitInstalled(t, sub, foo("1.0.0").CSV())
	broken := &apiextensions.CustomResourceDefinition{}
	cluster.Apply(t, "", `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: brokens.broken.example.com}
spec:
  group: broken.example.com
  scope: Namespaced
  names: {plural: brokens, singular: broken, kind: Broken, listKind: BrokenList}
  conversion:
    strategy: Webhook
    webhook: {conversionReviewVersions: [v1], clientConfig: {url: "https://127.0.0.1:1/convert"}}
  versions:
  - {name: v1, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}
  - {name: v1beta1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
`)
	t.Cleanup(func() {
		s.patch(t, broken, `{"spec":{"conversion":{"strategy":"None","webhook":null}}}`)
		deleteAndWait(t, broken)
	})
	broken.Name = "brokens.broken.example.com"
	served := cluster.Rediscovered(t)
	served.AwaitCRD(t, broken.Name)
	old := s.csv(foo("1.0.0").CSV())
	if err := cluster.Client.Get(t.Context(), s.key(old.Name), old); err != nil {
		t.Fatal(err)
	}
	served.Apply(t, s.namespace, fmt.Sprintf(`
apiVersion: broken.example.com/v1beta1
kind: Broken
metadata:
  name: one
  ownerReferences: [{apiVersion: operators.coreos.com/v1alpha1, kind: ClusterServiceVersion, name: %s, uid: %s}]
`, old.Name, old.UID))
	one := &unstructured.Unstructured{}
	one.SetAPIVersion("broken.example.com/v1beta1")
	one.SetKind("Broken")
	one.SetNamespace(s.namespace)
	one.SetName("one")
	belongsTo := func(csv string) func() string {
		return func() string {
			if refs := one.GetOwnerReferences(); len(refs) != 1 || refs[0].Name != csv {
				return fmt.Sprintf("its owners are %+v", refs)
			}
			return ""
		}
	}

	s.offer(t, publish(t, foo("1.0.0"), foo("2.0.0")))
	s.awaitInstalled(t, sub, foo("2.0.0").CSV())
	cluster.AwaitGone(t, old)
	served.Await(t, one, belongsTo(foo("2.0.0").CSV()))

	t.Log("The storage version is no longer served.")
	s.patch(t, broken, `{"spec":{"versions":[
		{"name":"v1","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object"}}},
		{"name":"v1beta1","served":false,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`)
	s.offer(t, publish(t, foo("1.0.0"), foo("2.0.0"), renamed))
	s.awaitInstalled(t, sub, renamed.CSV())
	stays := s.csv(foo("2.0.0").CSV())
	s.await(t, stays, func() string {
		if stays.Status.Phase != olm.CSVPhaseDeleting || !strings.Contains(stays.Status.Message, "Broken") {
			return fmt.Sprintf("it is %s: %s", stays.Status.Phase, stays.Status.Message)
		}
		return ""
	})
	cluster.AwaitEvent(t, s.namespace, v1alpha1.EventNotHandedOver, "Broken")
	cluster.AwaitGone(t, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "converted-operator"}})
	elsewhere := s.inNewNamespace(t, "unbroken")
	other := testcatalog.Foo{Name: "unbroken", Version: "1.0.0"}
	elsewhere.offer(t, publish(t, foo("1.0.0"), foo("2.0.0"), renamed), publish(t, other))
	elsewhere.awaitInstalled(t, elsewhere.subscribe(t, "unbroken"), other.CSV())

	t.Log("After another update, both remaining versions wait in a chain.")
	s.offer(t, publish(t, foo("1.0.0"), foo("2.0.0"), renamed, newest), publish(t, other))
	s.awaitInstalled(t, sub, newest.CSV())
	follows := s.csv(renamed.CSV())
	s.await(t, follows, func() string {
		if follows.Status.Phase != olm.CSVPhaseDeleting || !strings.Contains(follows.Status.Message, stays.Name+", which it replaced") {
			return fmt.Sprintf("it is %s: %s", follows.Status.Phase, follows.Status.Message)
		}
		return ""
	})

	t.Log("The kind can be read again.")
	s.patch(t, broken, `{"spec":{"conversion":{"strategy":"None","webhook":null}}}`)
	cluster.AwaitGone(t, stays)
	cluster.AwaitGone(t, follows)
	one.SetAPIVersion("broken.example.com/v1")
	served.Await(t, one, belongsTo(newest.CSV()))
	s.awaitInstalled(t, sub, newest.CSV())
}

// TestRightsRemovedByUpdate verifies that an update removes the rights that the new version does not request.
func TestRightsRemovedByUpdate(t *testing.T) {
	cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	foo := func(version string) testcatalog.Foo {
		return testcatalog.Foo{Name: "narrowed", Version: version, Change: func(csv, _ *unstructured.Unstructured) {
			if version != "1.0.0" {
				unstructured.RemoveNestedField(csv.Object, "spec", "install", "spec", "clusterPermissions")
			}
		}}
	}
	s := newStage(t, "narrowed", publish(t, foo("1.0.0")))
	sub := s.subscribe(t, "narrowed")
	s.awaitInstalled(t, sub, foo("1.0.0").CSV())
	s.offer(t, publish(t, foo("1.0.0"), foo("2.0.0")))
	s.awaitInstalled(t, sub, foo("2.0.0").CSV())
	labels := client.MatchingLabels{"olm.owner.namespace": s.namespace, "olm.owner.kind": "ClusterServiceVersion"}
	awaitNone(t, &rbacv1.ClusterRoleBindingList{}, labels)
}

// snapshot returns the objects of a package, one per line, except InstallPlans and Subscriptions.
func (s *stage) snapshot(t *testing.T, pkg string) string {
	t.Helper()
	var out []string
	for _, l := range s.lines(t, pkg) {
		if !strings.Contains(l, "InstallPlan") && !strings.Contains(l, "Subscription") {
			out = append(out, l)
		}
	}
	crd := &apiextensions.CustomResourceDefinition{}
	if err := cluster.Client.Get(t.Context(), types.NamespacedName{Name: testcatalog.Foo{Name: pkg}.CRD()}, crd); err != nil {
		t.Fatal(err)
	}
	return strings.Join(append(out, fmt.Sprintf("%d %s", crd.Generation, crd.UID)), "\n")
}

func (s *stage) patch(t *testing.T, o client.Object, patch string) {
	t.Helper()
	if err := cluster.Client.Patch(context.Background(), o, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
}

// deleteAndWait deletes an object and waits until it does not exist.
func deleteAndWait(t *testing.T, o client.Object) {
	t.Helper()
	if err := cluster.Client.Delete(context.Background(), o); client.IgnoreNotFound(err) != nil {
		t.Errorf("deleting %T %s: %v", o, o.GetName(), err)
	}
	cluster.AwaitGone(t, o)
}
