package platform

import (
	"context"
	"fmt"
	"testing"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	operatorsv1alpha1 "github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/api/platform/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/builder"
	"github.com/operator-status/operator-status/internal/test/testcatalog"
)

// TestManualEditsReverted verifies that changed fields and deleted objects are restored, and that added fields are kept.
func TestManualEditsReverted(t *testing.T) {
	newStage(t, publish(t, "edited", "1.0.0"))
	op := create(t, "edited")
	awaitRunning(t, op, "1.0.0")
	sub := subscriptionOf(op)
	patch(t, sub, `{"metadata":{"labels":{"operatorstatus.io/gate":null,"mine":"yes"}},"spec":{"installPlanApproval":"Automatic"}}`)
	cluster.Await(t, sub, func() string {
		if !sub.IsGated() || sub.Labels["mine"] != "yes" {
			return fmt.Sprintf("%+v %v", sub.Spec, sub.Labels)
		}
		return ""
	})
	group := &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Namespace: op.Name, Name: op.Name}}
	if err := cluster.Client.Delete(t.Context(), group); err != nil {
		t.Fatal(err)
	}
	cluster.Await(t, group, func() string { return "" })
	awaitRunning(t, op, "1.0.0")
}

// TestGitOpsLabelsNotCopied verifies that the labels and annotations that a GitOps tool sets on a PlatformOperator are not
// copied to its resources, which the tool would delete.
func TestGitOpsLabelsNotCopied(t *testing.T) {
	newStage(t, publish(t, "tracked", "1.0.0"))
	const label, annotation = "app.kubernetes.io/instance", "argocd.argoproj.io/tracking-id"
	op := create(t, "tracked", func(op *v1alpha1.PlatformOperator) {
		op.Labels = map[string]string{label: "platform"}
		op.Annotations = map[string]string{annotation: "platform:platform.openshift.io/PlatformOperator:/tracked"}
	})
	awaitRunning(t, op, "1.0.0")
	for _, r := range op.Status.Resources {
		o := currentObject(t, r.Reference)
		if o.GetLabels()[label] != "" || o.GetAnnotations()[annotation] != "" {
			t.Errorf("%s %s has the labels and annotations of the PlatformOperator: %v %v", r.Reference.Kind, r.Reference.Name, o.GetLabels(), o.GetAnnotations())
		}
	}
}

// TestForeignSubscription verifies that another user's Subscription is left alone, with a message about how to hand it
// over. A PlatformOperator can observe it.
func TestForeignSubscription(t *testing.T) {
	s := newStage(t, publish(t, "foreign", "1.0.0"))
	namespace := cluster.Namespace(t, "foreign")
	group := &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "theirs"}}
	sub := &operatorsv1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "theirs"}}
	sub.Spec = &olm.SubscriptionSpec{Package: "foreign", CatalogSource: s.catalog.Name, CatalogSourceNamespace: s.catalog.Namespace}
	cluster.Create(t, group, sub)

	observer := create(t, "observer", func(op *v1alpha1.PlatformOperator) {
		op.Spec.Package.Name, op.Spec.ManagementPolicy = "foreign", v1alpha1.ManagementObserve
	})
	awaitConditions(t, observer, "Synced=True/ObserveOnly", "Ready=True/Available", "Installed=True/Installed", "UpToDate=True/NewestRuns")
	checkRelatedObjects(t, observer)

	op := create(t, "foreign", func(op *v1alpha1.PlatformOperator) { op.Spec.Namespace = namespace })
	awaitConditions(t, op, "Synced=False/Conflict")
	checkMessage(t, op, v1alpha1.ConditionSynced, "Subscription "+namespace+"/theirs", "operatorstatus.io/adopt=foreign")
	cluster.Await(t, sub, func() string { return "" })
	if len(sub.OwnerReferences) > 0 || sub.IsGated() {
		t.Errorf("the foreign Subscription is taken over: %+v", sub)
	}
	patch(t, sub, `{"metadata":{"annotations":{"operatorstatus.io/adopt":"foreign"}}}`)
	awaitRunning(t, op, "1.0.0")
	cluster.Await(t, sub, func() string {
		if !sub.IsGated() || !metav1.IsControlledBy(sub, op) {
			return fmt.Sprintf("the Subscription is not adopted: %+v", sub.ObjectMeta)
		}
		return ""
	})
	// The namespace and the OperatorGroup stay with their creator.
	if err := cluster.Client.Delete(t.Context(), op); err != nil {
		t.Fatal(err)
	}
	cluster.AwaitGone(t, op)
	cluster.AwaitGone(t, sub)
	cluster.Await(t, group, func() string {
		if group.DeletionTimestamp != nil {
			return "it is being deleted"
		}
		return ""
	})
}

// TestDuplicatePlatformOperator verifies that two PlatformOperators for one package both report the duplicate and only the
// older is reconciled. The younger keeps its resources until it is the only one.
func TestDuplicatePlatformOperator(t *testing.T) {
	newStage(t, publish(t, "twin", "1.0.0"))
	first := create(t, "twin", func(op *v1alpha1.PlatformOperator) { op.Spec.ManagementPolicy = v1alpha1.ManagementObserve })
	second := create(t, "twin-again", func(op *v1alpha1.PlatformOperator) { op.Spec.Package.Name = "twin" })
	awaitRunning(t, second, "1.0.0")
	patch(t, first, `{"spec":{"managementPolicy":"Full"}}`)
	awaitConditions(t, second, "Synced=False/DuplicatePackage", "Ready=False/Degraded")
	awaitConditions(t, first, "Synced=False/DuplicatePackage")
	checkMessage(t, first, v1alpha1.ConditionSynced, "twin-again")
	checkMessage(t, second, v1alpha1.ConditionSynced, "PlatformOperator twin:")
	if len(second.Status.Resources) != 3 {
		t.Errorf("the younger PlatformOperator no longer lists its resources: %+v", second.Status.Resources)
	}
	if err := cluster.Client.Delete(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	awaitRunning(t, first, "1.0.0")
}

// TestResources verifies that spec.resources wait until the operator's CRD exists, that the reason of an unready
// resource is reported, and that a resource that is removed from the spec is deleted.
func TestResources(t *testing.T) {
	newStage(t, publish(t, "widget", "1.0.0"))
	op := create(t, "widget", func(op *v1alpha1.PlatformOperator) {
		op.Spec.Resources = []v1alpha1.Resource{
			{Name: "main", Manifest: raw(`{apiVersion: widget.example.com/v1, kind: Widget, metadata: {name: main}, spec: {size: 1}}`),
				ReadinessChecks: []v1alpha1.ReadinessCheck{{Type: v1alpha1.CheckMatchCondition, MatchCondition: &v1alpha1.MatchCondition{Type: "Ready", Status: "True"}}}},
			{Name: "settings", Manifest: raw(`{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {a: b}}`)},
		}
	})
	cluster.Await(t, op, func() string {
		if op.Status.Version != "1.0.0" {
			return "version 1.0.0 is not installed"
		}
		return ""
	})
	awaitConditions(t, op, "Synced=True/Synced", "Ready=False/Creating", "Installed=False/Installing")
	widget := builder.Object("widget.example.com/v1", "Widget", "widget", "main")
	here := cluster.Rediscovered(t)
	condition := func(status, reason string) {
		t.Helper()
		text := fmt.Sprintf(`{"status":{"conditions":[{"type":"Ready","status":%q,"reason":%q,"message":"said by the widget"}]}}`, status, reason)
		if err := here.Client.Status().Patch(context.Background(), widget, client.RawPatch(types.MergePatchType, []byte(text))); err != nil {
			t.Fatal(err)
		}
	}
	condition("True", "Fine")
	awaitRunning(t, op, "1.0.0")
	condition("False", "Broken")
	awaitConditions(t, op, "Ready=False/Degraded", "Installed=True/Installed")
	checkMessage(t, op, v1alpha1.ConditionReady, "Widget widget/main", "Broken", "said by the widget")
	if r := op.Status.Resources[3]; r.Name != "main" || r.Ready || r.Reason != "Broken" {
		t.Errorf("status.resources does not report the reason of the Widget: %+v", r)
	}
	condition("True", "Fine")
	awaitRunning(t, op, "1.0.0")

	patch(t, op, `{"spec":{"resources":[{"name":"settings","manifest":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings"}}}]}}`)
	here.AwaitGone(t, widget)
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "widget", Name: "settings"}}
	cluster.Await(t, settings, func() string {
		if len(settings.Data) > 0 {
			return fmt.Sprintf("it still has a key that was removed from the manifest: %v", settings.Data)
		}
		return ""
	})
	cluster.Await(t, op, func() string {
		if len(op.Status.Resources) != 4 {
			return fmt.Sprintf("status.resources still lists a deleted resource: %+v", op.Status.Resources)
		}
		return ""
	})
	awaitRunning(t, op, "1.0.0")
}

// TestClusterExtension verifies that a ClusterExtension of OLM v1 is ready if its own conditions report so, and that
// their reason and message are reported.
func TestClusterExtension(t *testing.T) {
	cluster.Apply(t, "", clusterExtensions)
	newStage(t, publish(t, "modern", "1.0.0"))
	op := create(t, "modern", func(op *v1alpha1.PlatformOperator) {
		op.Spec.Resources = []v1alpha1.Resource{{Name: "extension", Manifest: raw(
			`{apiVersion: olm.operatorframework.io/v1, kind: ClusterExtension, metadata: {name: argocd}, spec: {namespace: argocd}}`)}}
	})
	extension := builder.Object("olm.operatorframework.io/v1", "ClusterExtension", "", "argocd")
	here := cluster.Rediscovered(t)
	here.Await(t, extension, func() string { return "" })
	extends := func(installed, progressing, reason, message string) {
		t.Helper()
		text := fmt.Sprintf(`{"status":{"conditions":[{"type":"Installed","status":%q,"reason":%q,"message":%q},`+
			`{"type":"Progressing","status":%q,"reason":%q,"message":%q}]}}`, installed, reason, message, progressing, reason, message)
		if err := here.Client.Status().Patch(t.Context(), extension, client.RawPatch(types.MergePatchType, []byte(text))); err != nil {
			t.Fatal(err)
		}
	}
	extends("False", "True", "Retrying", "no bundles found for package argocd")
	awaitConditions(t, op, "Ready=False/Failed", "Installed=False/Installing")
	checkMessage(t, op, v1alpha1.ConditionReady, "ClusterExtension argocd", "Retrying", "no bundles found")
	extends("True", "True", "Succeeded", "Installed bundle argocd.v1.0.0")
	awaitRunning(t, op, "1.0.0")
	extends("True", "False", "Blocked", "the catalog is gone")
	awaitConditions(t, op, "Ready=False/Degraded", "Installed=True/Installed")
	checkMessage(t, op, v1alpha1.ConditionReady, "Blocked", "the catalog is gone")
}

// clusterExtensions is the CustomResourceDefinition of OLM v1's ClusterExtension, without its schema.
const clusterExtensions = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: clusterextensions.olm.operatorframework.io
  annotations: {api-approved.kubernetes.io: unapproved}
spec:
  group: olm.operatorframework.io
  scope: Cluster
  names: {plural: clusterextensions, singular: clusterextension, kind: ClusterExtension, listKind: ClusterExtensionList}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// TestInstallModes verifies that an operator that does not support AllNamespaces is installed for its own namespace.
func TestInstallModes(t *testing.T) {
	own := testcatalog.Foo{Name: "homely", Version: "1.0.0", Change: func(csv, _ *unstructured.Unstructured) {
		csv.Object["spec"].(map[string]any)["installModes"] = []any{
			map[string]any{"type": string(olm.InstallModeTypeAllNamespaces), "supported": false},
			map[string]any{"type": string(olm.InstallModeTypeOwnNamespace), "supported": true},
		}
	}}
	newStage(t, testcatalog.Published(t, own))
	awaitRunning(t, create(t, "homely"), "1.0.0")
}

// currentObject returns the current object that a reference points to.
func currentObject(t *testing.T, ref corev1.ObjectReference) *unstructured.Unstructured {
	t.Helper()
	out := builder.Object(ref.APIVersion, ref.Kind, ref.Namespace, ref.Name)
	if err := cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(out), out); err != nil {
		t.Fatal(err)
	}
	return out
}

// csvOf returns the name of version 1.0.0's ClusterServiceVersion, which most tests install.
func csvOf(name string) string { return testcatalog.Foo{Name: name, Version: "1.0.0"}.CSV() }

// raw returns a manifest that is written in YAML.
func raw(text string) runtime.RawExtension {
	out, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		panic(err)
	}
	return runtime.RawExtension{Raw: out}
}
