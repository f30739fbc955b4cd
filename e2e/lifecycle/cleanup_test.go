package lifecycle

import (
	"fmt"
	"testing"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/testcatalog"
)

// TestCleanup verifies that with spec.cleanup enabled, a ClusterServiceVersion's custom resources are deleted before
// it, while its operator runs. They are kept if a newer version replaces it.
func TestCleanup(t *testing.T) {
	cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	version := func(version string) testcatalog.Foo {
		return testcatalog.Foo{Name: "tidy", Version: version, Change: func(csv, _ *unstructured.Unstructured) {
			if err := unstructured.SetNestedField(csv.Object, true, "spec", "cleanup", "enabled"); err != nil {
				t.Fatal(err)
			}
		}}
	}
	v1, v2 := version("1.0.0"), version("1.1.0")
	s := newStage(t, "tidy", publish(t, v1))
	sub := s.subscribe(t, "tidy")
	s.awaitInstalled(t, sub, v1.CSV())
	mine := s.custom(t, "tidy", "mine", "[]")
	here := cluster.Rediscovered(t)
	finalizers := func(text string) {
		t.Helper()
		if err := here.Client.Patch(t.Context(), mine, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":`+text+`}}`))); err != nil {
			t.Fatal(err)
		}
	}
	finalizers(`["example.com/tidy"]`)

	s.offer(t, publish(t, v1, v2))
	s.awaitInstalled(t, sub, v2.CSV())
	cluster.AwaitGone(t, s.csv(v1.CSV()))
	if err := here.Client.Get(t.Context(), client.ObjectKeyFromObject(mine), mine); err != nil || mine.GetDeletionTimestamp() != nil {
		t.Fatalf("the custom resource is deleted by an update: %v %v", err, mine.GetDeletionTimestamp())
	}

	csv := s.csv(v2.CSV())
	for _, o := range []client.Object{sub, csv} {
		if err := cluster.Client.Delete(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	s.await(t, csv, func() string {
		if len(csv.Status.Cleanup.PendingDeletion) != 1 || csv.Status.Cleanup.PendingDeletion[0].Instances[0].Name != "mine" {
			return fmt.Sprintf("its status does not list the pending custom resource: %+v", csv.Status.Cleanup)
		}
		return ""
	})
	s.checkDeployment(t, "tidy-operator", "example.com/tidy-operator:1.1.0", v2.CSV())
	finalizers("[]") // as the operator does
	here.AwaitGone(t, mine)
	cluster.AwaitGone(t, csv)
}

// TestCleanupWithoutOperatorGroup verifies that custom resources stay if no OperatorGroup names the namespaces in which
// the operator worked, and that an Event states it.
func TestCleanupWithoutOperatorGroup(t *testing.T) {
	cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	foo := testcatalog.Foo{Name: "adrift", Version: "1.0.0", Change: func(csv, _ *unstructured.Unstructured) {
		if err := unstructured.SetNestedField(csv.Object, true, "spec", "cleanup", "enabled"); err != nil {
			t.Fatal(err)
		}
	}}
	s := newStage(t, "adrift", publish(t, foo))
	sub := s.subscribe(t, "adrift")
	s.awaitInstalled(t, sub, foo.CSV())
	mine := s.custom(t, "adrift", "mine", "[]")
	if err := cluster.Client.DeleteAllOf(t.Context(), &operatorsv1.OperatorGroup{}, client.InNamespace(s.namespace)); err != nil {
		t.Fatal(err)
	}
	csv := s.csv(foo.CSV())
	for _, o := range []client.Object{sub, csv} {
		if err := cluster.Client.Delete(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	cluster.AwaitGone(t, csv)
	cluster.AwaitEvent(t, s.namespace, v1alpha1.EventNotCleanedUp, "has no OperatorGroup")
	if err := cluster.Rediscovered(t).Client.Get(t.Context(), client.ObjectKeyFromObject(mine), mine); err != nil {
		t.Errorf("the custom resource was deleted: %v", err)
	}
}
