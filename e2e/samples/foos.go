package samples

import (
	"encoding/json"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	foov1 "github.com/operator-status/operator-status/e2e/samples/foo/v1"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// NewFoo creates a Foo whose data has version 1.0.0.
func NewFoo(t testing.TB, c *testcluster.Cluster, namespace, name string) *foov1.Foo {
	t.Helper()
	out := &foov1.Foo{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: foov1.FooSpec{Version: "1.0.0"}}
	c.Create(t, Dynamic(t, out))
	return out
}

// Dynamic returns a Foo for a client that does not know the kind.
func Dynamic(t testing.TB, foo *foov1.Foo) *unstructured.Unstructured {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(foo)
	if err != nil {
		t.Fatal(err)
	}
	out := &unstructured.Unstructured{Object: content}
	out.SetGroupVersionKind(foov1.GroupVersion.WithKind("Foo"))
	return out
}

// Change changes the spec of a Foo.
func Change(t testing.TB, c *testcluster.Cluster, foo *foov1.Foo, set func(*foov1.FooSpec)) {
	t.Helper()
	set(&foo.Spec)
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{
		"version": foo.Spec.Version, "hold": foo.Spec.Hold, "migrationSeconds": foo.Spec.MigrationSeconds,
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Client.Patch(t.Context(), Dynamic(t, foo), client.RawPatch(types.MergePatchType, patch)); err != nil {
		t.Fatal(err)
	}
}

// AwaitFoo waits until the data of a Foo has a version, and Migrating a status.
func AwaitFoo(t testing.TB, c *testcluster.Cluster, foo *foov1.Foo, version string, migrating metav1.ConditionStatus) {
	t.Helper()
	o := Dynamic(t, foo)
	c.Await(t, o, func() string {
		got := &foov1.Foo{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, got); err != nil {
			return err.Error()
		}
		if got.Status.Version != version || !meta.IsStatusConditionPresentAndEqual(got.Status.Conditions, foov1.ConditionMigrating, migrating) {
			return fmt.Sprintf("want version %s, Migrating=%s", version, migrating)
		}
		return ""
	})
}
