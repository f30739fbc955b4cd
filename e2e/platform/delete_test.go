package platform

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorsv1alpha1 "github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/api/platform/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/builder"
	"github.com/operator-status/operator-status/internal/test/testcatalog"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// TestDelete verifies that deletionPolicy Delete leaves nothing of the operator except its CustomResourceDefinition,
// because custom resources belong to the user.
func TestDelete(t *testing.T) {
	newStage(t, publish(t, "deleted", "1.0.0"))
	op := create(t, "deleted", func(op *v1alpha1.PlatformOperator) {
		op.Spec.Resources = []v1alpha1.Resource{{Name: "settings", Manifest: raw(`{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}}`)}}
	})
	awaitRunning(t, op, "1.0.0")
	if err := cluster.Client.Delete(t.Context(), op); err != nil {
		t.Fatal(err)
	}
	cluster.AwaitGone(t, op)
	for _, gone := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "deleted"}},
		&operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: "deleted", Name: csvOf("deleted")}},
	} {
		if err := cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(gone), gone); !apierrors.IsNotFound(err) {
			t.Errorf("%T %s still exists: %v", gone, gone.GetName(), err)
		}
	}
	crd := &apiextensions.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: testcatalog.Foo{Name: "deleted"}.CRD()}}
	cluster.Await(t, crd, func() string { return "" })
}

// TestOrphan verifies that deletionPolicy Orphan keeps the operator running, and that it can be adopted again.
func TestOrphan(t *testing.T) {
	newStage(t, publish(t, "orphaned", "1.0.0"))
	op := create(t, "orphaned", func(op *v1alpha1.PlatformOperator) { op.Spec.DeletionPolicy = v1alpha1.DeletionOrphan })
	awaitRunning(t, op, "1.0.0")
	if err := cluster.Client.Delete(t.Context(), op); err != nil {
		t.Fatal(err)
	}
	cluster.AwaitGone(t, op)
	for _, r := range op.Status.Resources {
		o := currentObject(t, r.Reference)
		if o.GetDeletionTimestamp() != nil || len(o.GetOwnerReferences()) > 0 || o.GetLabels()[v1alpha1.LabelPlatformOperator] != "" {
			t.Errorf("%s %s still has owner references or labels: %v %v", r.Reference.Kind, r.Reference.Name, o.GetOwnerReferences(), o.GetLabels())
		}
	}

	left := op.Status.Resources
	op = create(t, "orphaned")
	awaitConditions(t, op, "Synced=False/Conflict", "Ready=False/Failed")
	checkMessage(t, op, v1alpha1.ConditionSynced, "Namespace orphaned", "kubectl annotate namespace orphaned operatorstatus.io/adopt=orphaned")
	for _, r := range left {
		patch(t, builder.Object(r.Reference.APIVersion, r.Reference.Kind, r.Reference.Namespace, r.Reference.Name),
			`{"metadata":{"annotations":{"operatorstatus.io/adopt":"orphaned"}}}`)
	}
	awaitRunning(t, op, "1.0.0")
}

// TestDeleteObserving verifies that the deletion of a PlatformOperator that has just come to observe only deletes nothing, although it made
// the objects.
func TestDeleteObserving(t *testing.T) {
	s := newStage(t, publish(t, "observing", "1.0.0"))
	op := create(t, "observing")
	awaitRunning(t, op, "1.0.0")
	s.manager.Terminate(t) // it observes both changes at once
	patch(t, op, `{"spec":{"managementPolicy":"Observe"}}`)
	if err := cluster.Client.Delete(t.Context(), op); err != nil {
		t.Fatal(err)
	}
	cluster.StartManager(t, s.flags()...)
	cluster.AwaitGone(t, op)
	for _, r := range op.Status.Resources {
		if o := currentObject(t, r.Reference); o.GetDeletionTimestamp() != nil || len(o.GetOwnerReferences()) > 0 {
			t.Errorf("%s %s is deleted or still has owner references: %v", r.Reference.Kind, r.Reference.Name, o.GetOwnerReferences())
		}
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "observing"}}
	if err := cluster.Client.Delete(t.Context(), namespace); err != nil { // TestQuiet counts Probes
		t.Fatal(err)
	}
	cluster.AwaitGone(t, namespace)
}

// TestDeletionWaitsForPlatformOperator verifies that a namespace is not deleted while another PlatformOperator installs its operator there.
func TestDeletionWaitsForPlatformOperator(t *testing.T) {
	newStage(t, publish(t, "first", "1.0.0"), publish(t, "second", "1.0.0"))
	first := create(t, "first")
	awaitRunning(t, first, "1.0.0")
	second := create(t, "second", func(op *v1alpha1.PlatformOperator) { op.Spec.Namespace = "first" })
	awaitRunning(t, second, "1.0.0")
	if err := cluster.Client.Delete(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	awaitConditions(t, first, "Synced=False/UsersData")
	checkMessage(t, first, v1alpha1.ConditionSynced, "Subscription.operators.coreos.com first/second")
	if err := cluster.Client.Delete(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	cluster.AwaitGone(t, second)
	cluster.AwaitGone(t, first)
	cluster.AwaitGone(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "first"}})
}

// TestDeletionWaitsForUserData verifies that nothing is uninstalled while users' data exists: custom resources, which the
// running operator still cleans up after, and other objects in its namespace.
func TestDeletionWaitsForUserData(t *testing.T) {
	op := deleteWithData(t, "kept")
	awaitConditions(t, op, "Synced=False/UsersData", "Ready=False/UsersData")
	checkMessage(t, op, v1alpha1.ConditionSynced, "Kept.kept.example.com kept/mine", "PersistentVolumeClaim kept/data", "ConfigMap kept/notes",
		"kubectl annotate platformoperator.platform.openshift.io kept operatorstatus.io/delete-anyway=true")

	here := cluster.Rediscovered(t)
	mine := builder.Object("kept.example.com/v1", "Kept", "kept", "mine")
	for _, o := range []client.Object{mine, builder.Object("v1", "PersistentVolumeClaim", "kept", "data")} {
		if err := here.Client.Delete(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	cluster.AwaitGone(t, builder.Object("v1", "PersistentVolumeClaim", "kept", "data"))
	if err := here.Client.Patch(t.Context(), mine, unfinished); err != nil {
		t.Fatal(err)
	}
	cluster.Await(t, op, func() string {
		if c := meta.FindStatusCondition(op.Status.Conditions, v1alpha1.ConditionSynced); strings.Contains(c.Message, "Kept") ||
			!strings.Contains(c.Message, "ConfigMap kept/notes") {
			return "its message does not name the ConfigMap alone: " + c.Message
		}
		return ""
	})
	csv := &operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: "kept", Name: csvOf("kept")}}
	cluster.Await(t, csv, func() string {
		if csv.DeletionTimestamp != nil {
			t.Error("the operator is uninstalled while users' data exists")
		}
		return ""
	})
	if err := cluster.Client.Delete(t.Context(), builder.Object("v1", "ConfigMap", "kept", "notes")); err != nil {
		t.Fatal(err)
	}
	cluster.AwaitGone(t, op)
	cluster.AwaitGone(t, csv)
	cluster.AwaitGone(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kept"}})
}

// TestDeletionWithoutSubscription verifies that users' data stays, and updates of the cluster wait, while an operator runs whose Subscription is
// deleted during the deletion of its PlatformOperator; and that the operator is uninstalled in the end.
func TestDeletionWithoutSubscription(t *testing.T) {
	co := cluster.InstallClusterOperator(t)
	op := deleteWithData(t, "bereft", func(op *v1alpha1.PlatformOperator) { op.Spec.HoldClusterUpdates = true })
	awaitConditions(t, op, "Synced=False/UsersData")
	here := cluster.Rediscovered(t)
	mine := builder.Object("bereft.example.com/v1", "Bereft", "bereft", "mine")
	migrating := client.RawPatch(types.MergePatchType, []byte(`{"status":{"conditions":[{"type":"Migrating","status":"True"}]}}`))
	if err := here.Client.Status().Patch(t.Context(), mine, migrating); err != nil {
		t.Fatal(err)
	}
	awaitConditions(t, op, "Synced=False/UsersData", "Upgradeable=False/NotUpgradeable")
	awaitClusterOperator(t, co, "Upgradeable=False/PlatformOperatorsNotUpgradeable")

	for _, o := range []client.Object{
		builder.Object("operators.coreos.com/v1alpha1", "Subscription", "bereft", "bereft"),
		builder.Object("v1", "PersistentVolumeClaim", "bereft", "data"),
		builder.Object("v1", "ConfigMap", "bereft", "notes"),
	} {
		if err := here.Client.Delete(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	cluster.Await(t, op, func() string {
		if c := meta.FindStatusCondition(op.Status.Conditions, v1alpha1.ConditionSynced); c.Reason != v1alpha1.ReasonUsersData ||
			!strings.Contains(c.Message, "Bereft") || strings.Contains(c.Message, "ConfigMap") {
			return "it does not wait for the custom resource alone: " + c.Message
		}
		return testcluster.Lacking(op.Status.Conditions, "Upgradeable=False/NotUpgradeable")
	})
	awaitClusterOperator(t, co, "Upgradeable=False/PlatformOperatorsNotUpgradeable")
	if err := here.Client.Delete(t.Context(), mine); err != nil {
		t.Fatal(err)
	}
	if err := here.Client.Patch(t.Context(), mine, unfinished); err != nil {
		t.Fatal(err)
	}
	cluster.AwaitGone(t, op)
	cluster.AwaitGone(t, &operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: "bereft", Name: csvOf("bereft")}})
	awaitClusterOperator(t, co, "Upgradeable=True/PlatformOperatorsUpgradeable")
}

// TestDeleteAnyway verifies that the delete-anyway annotation uninstalls the operator and keeps users' data.
func TestDeleteAnyway(t *testing.T) {
	op := deleteWithData(t, "left")
	awaitConditions(t, op, "Synced=False/UsersData")
	patch(t, op, `{"metadata":{"annotations":{"operatorstatus.io/delete-anyway":"true"}}}`)
	cluster.AwaitGone(t, op)
	cluster.AwaitGone(t, &operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: "left", Name: csvOf("left")}})
	here := cluster.Rediscovered(t)
	for _, stays := range []*unstructured.Unstructured{
		builder.Object("v1", "Namespace", "", "left"),
		builder.Object("left.example.com/v1", "Left", "left", "mine"),
		builder.Object("v1", "PersistentVolumeClaim", "left", "data"),
		builder.Object("v1", "ConfigMap", "left", "notes"),
	} {
		err := here.Client.Get(t.Context(), client.ObjectKeyFromObject(stays), stays)
		if err != nil || stays.GetDeletionTimestamp() != nil || len(stays.GetOwnerReferences()) > 0 {
			t.Errorf("%s %s was deleted: %v %v", stays.GetKind(), stays.GetName(), err, stays.Object["metadata"])
		}
	}
	mine := builder.Object("left.example.com/v1", "Left", "left", "mine")
	if err := here.Client.Patch(t.Context(), mine, unfinished); err != nil {
		t.Fatal(err)
	}
	if err := cluster.Client.Delete(t.Context(), builder.Object("v1", "Namespace", "", "left")); err != nil {
		t.Fatal(err)
	}
}

// unfinished removes the finalizer, as an operator does after its cleanup.
var unfinished = client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":[]}}`))

// deleteWithData installs an operator, creates users' data in its namespace, and deletes the PlatformOperator.
func deleteWithData(t *testing.T, name string, changes ...func(*v1alpha1.PlatformOperator)) *v1alpha1.PlatformOperator {
	t.Helper()
	newStage(t, publish(t, name, "1.0.0"))
	op := create(t, name, changes...)
	awaitRunning(t, op, "1.0.0")
	want := fmt.Sprintf("Uninstalls %s and deletes namespace %s, once there are no custom resources of %s, or",
		csvOf(name), name, testcatalog.Foo{Name: name}.CRD())
	if !strings.HasPrefix(op.Status.OnDeletion, want) {
		t.Errorf("onDeletion is %q", op.Status.OnDeletion)
	}
	apply(t, op, fmt.Sprintf(`
{apiVersion: %s.example.com/v1, kind: %s, metadata: {name: mine, finalizers: [example.com/cleanup]}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: notes}}
`, name, strings.ToUpper(name[:1])+name[1:]))
	if err := cluster.Client.Delete(t.Context(), op); err != nil {
		t.Fatal(err)
	}
	return op
}
