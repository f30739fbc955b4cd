package testcluster

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Decode returns the objects of a YAML stream.
func Decode(manifests []byte) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifests), 4096)
	for {
		o := &unstructured.Unstructured{}
		err := documents.Decode(o)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		if len(o.Object) > 0 {
			out = append(out, o)
		}
	}
}

// Create creates objects and fails the test if one cannot be created.
func (c *Cluster) Create(t testing.TB, objects ...client.Object) {
	t.Helper()
	for _, o := range objects {
		if err := c.Client.Create(context.Background(), o); err != nil {
			t.Fatalf("creating %T %s: %v", o, o.GetName(), err)
		}
	}
}

// Apply creates the objects of a YAML stream with their status. Namespaced objects default to namespace.
func (c *Cluster) Apply(t testing.TB, namespace, manifests string) {
	t.Helper()
	objects, err := Decode([]byte(manifests))
	if err != nil {
		t.Fatalf("reading manifests: %v\n%s", err, manifests)
	}
	var unserved []string
	awaitCRDs := func() {
		t.Helper()
		for _, name := range unserved {
			if err := c.awaitCRD(name); err != nil {
				t.Fatal(err)
			}
		}
		unserved = nil
	}
	defer awaitCRDs()
	for _, o := range objects {
		if o.GetKind() != "CustomResourceDefinition" {
			awaitCRDs()
		}
		if o.GetNamespace() == "" && c.namespaced(o) {
			o.SetNamespace(namespace)
		}
		status, hasStatus := o.Object["status"]
		c.Create(t, o)
		if o.GetKind() == "CustomResourceDefinition" {
			unserved = append(unserved, o.GetName())
			continue
		}
		if hasStatus {
			o.Object["status"] = status
			if err := c.Client.Status().Update(context.Background(), o); err != nil {
				t.Fatalf("updating the status of %s %s: %v", o.GetKind(), o.GetName(), err)
			}
		}
	}
}

// Delete deletes the cluster-scoped objects of a YAML stream, if they exist, and a namespace with its objects.
func (c *Cluster) Delete(t testing.TB, manifests, namespace string) {
	t.Helper()
	objects, err := Decode([]byte(manifests))
	if err != nil {
		t.Fatalf("reading manifests: %v\n%s", err, manifests)
	}
	n := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace"}}
	n.SetName(namespace)
	for _, o := range append(objects, n) {
		if c.namespaced(o) {
			continue // deleted with its namespace
		}
		if err := c.Client.Delete(context.Background(), o); client.IgnoreNotFound(err) != nil {
			t.Errorf("deleting %s %s: %v", o.GetKind(), o.GetName(), err)
		}
	}
}

// namespaced reports whether the API server knows the kind of an object and it is namespaced.
func (c *Cluster) namespaced(o *unstructured.Unstructured) bool {
	kind := o.GroupVersionKind()
	mapping, err := c.Client.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
	return err == nil && mapping.Scope.Name() == meta.RESTScopeNameNamespace
}

// RemoveCRDs deletes the CustomResourceDefinitions that are created from now on, when the test ends. If they stayed, the
// deletion of every later namespace would cost two requests for each of them. It does not wait until they are deleted: the
// API server takes minutes for one that it has just begun to serve.
func (c *Cluster) RemoveCRDs(t testing.TB) {
	t.Helper()
	before := c.crds(t)
	t.Cleanup(func() {
		for name := range c.crds(t).Difference(before) {
			crd := &apiextensions.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: name}}
			if err := c.Client.Delete(context.Background(), crd); client.IgnoreNotFound(err) != nil {
				t.Errorf("deleting CustomResourceDefinition %s: %v", name, err)
			}
		}
	})
}

func (c *Cluster) crds(t testing.TB) sets.Set[string] {
	t.Helper()
	list, out := &apiextensions.CustomResourceDefinitionList{}, sets.New[string]()
	if err := c.Client.List(context.Background(), list); err != nil {
		t.Errorf("listing CustomResourceDefinitions: %v", err)
	}
	for i := range list.Items {
		out.Insert(list.Items[i].Name)
	}
	return out
}

// WithoutHoldPolicy removes the binding that makes the API server enforce UpgradeHolds beside OLM, for the rest of the test.
func (c *Cluster) WithoutHoldPolicy(t testing.TB) {
	t.Helper()
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: "operator-status-hold-installplans"}}
	if err := c.Client.Get(context.Background(), client.ObjectKeyFromObject(binding), binding); err != nil {
		t.Fatal(err)
	}
	if err := c.Client.Delete(context.Background(), binding); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		binding.ResourceVersion, binding.UID = "", ""
		if err := c.Client.Create(context.Background(), binding); err != nil {
			t.Error(err)
		}
	})
}
