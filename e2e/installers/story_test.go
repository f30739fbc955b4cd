package installers

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/client"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// manifests is an operator: its Deployment has another image in each version, and its CustomResourceDefinition another description.
const manifests = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: widgets.NAME.example.com
spec:
  group: NAME.example.com
  scope: Namespaced
  names: {kind: Widget, listKind: WidgetList, plural: widgets, singular: widget}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        description: Widgets of version VERSION
        type: object
        x-kubernetes-preserve-unknown-fields: true
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: NAME, namespace: NAMESPACE}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: NAME}
rules:
- {apiGroups: [NAME.example.com], resources: [widgets, widgets/status], verbs: ["*"]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: NAME}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: NAME}
subjects:
- {kind: ServiceAccount, name: NAME, namespace: NAMESPACE}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: NAMESPACE}
data: {version: VERSION}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME, namespace: NAMESPACE}
spec:
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}}
    spec:
      serviceAccountName: NAME
      containers:
      - {name: manager, image: "example.com/NAME:VERSION"}
`

// The versions of an operator.
const first, second = "1.0.0", "1.1.0"

// op is an operator that a program installs.
type op struct{ name, namespace string }

// manifests returns those of a version.
func (o op) manifests(version string) string {
	return strings.NewReplacer("NAMESPACE", o.namespace, "NAME", o.name, "VERSION", version).Replace(manifests)
}

// program is a program that installs operators.
type program interface {
	// install asks for a version of an operator. The first one is installed after a while.
	install(t *testing.T, o op, version string)

	// report returns the program's own report on its last attempt, and has it try again unless it does by itself.
	report(t *testing.T, o op) string

	// reference returns the operator in the terms of an UpgradeHold.
	reference(o op) holdv1alpha1.OperatorReference

	// own reports whether an object is one with which the program or its user asks for an update, or in which it reports.
	own(o *unstructured.Unstructured) bool
}

// tell is the story that each program has to tell: while a custom resource does not allow it, nothing of another version is on the
// cluster, and the program says why, whether a manager runs or not.
func tell(t *testing.T, p program, o op) {
	manager := cluster.StartManager(t)
	p.install(t, o, first)
	o.awaitImage(t, first)
	example := o.createMigrating(t)
	cluster.Create(t, &v1alpha1.Probe{
		ObjectMeta: metav1.ObjectMeta{Namespace: o.namespace, Name: o.name},
		Spec: &v1alpha1.ProbeSpec{
			Operator:       &v1alpha1.ProbedOperator{Installer: p.reference(o).Installer, Name: p.reference(o).Name},
			ProbeResources: []v1alpha1.ProbeResource{{Name: "widgets." + o.name + ".example.com", Upgradeable: "!Migrating"}},
		},
	})
	hold := &holdv1alpha1.UpgradeHold{ObjectMeta: metav1.ObjectMeta{Name: p.reference(o).HoldName()}}
	awaitHold := func() {
		t.Helper()
		cluster.Await(t, hold, func() string {
			return testcluster.Lacking(hold.Status.Conditions, "Held=True/ProbeNotUpgradeable", "Enforced=True/PolicyBound")
		})
	}
	awaitHold()
	o.awaitEnforced(t)

	manager.Kill(t)
	before := snapshot(t, p)
	p.install(t, o, second)
	o.awaitReport(t, p, "is held: ", "Migrating", v1alpha1.AnnotationAllowUpgrade)
	if diff := cmp.Diff(before, snapshot(t, p)); diff != "" {
		t.Errorf("the cluster has changed while the update was held:\n%s", diff)
	}
	cluster.StartManager(t)
	awaitHold()
	o.awaitReport(t, p, "is held: ", "Migrating")
	if diff := cmp.Diff(before, snapshot(t, p)); diff != "" {
		t.Errorf("the cluster has changed since a manager runs:\n%s", diff)
	}

	o.setMigrating(t, example, "False")
	start := time.Now()
	cluster.AwaitGone(t, hold)
	o.awaitReport(t, p, "")
	o.awaitImage(t, second)
	t.Logf("updated %s after the custom resource allowed it", time.Since(start).Round(100*time.Millisecond))
	crd := &apiextensions.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "widgets." + o.name + ".example.com"}}
	cluster.Await(t, crd, func() string {
		if got := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Description; !strings.HasSuffix(got, second) {
			return "its description is " + got
		}
		return ""
	})
}

// awaitImage waits until the operator runs in a version.
func (o op) awaitImage(t *testing.T, version string) {
	t.Helper()
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: o.namespace, Name: o.name}}
	cluster.Await(t, d, func() string {
		image := d.Spec.Template.Spec.Containers[0].Image
		if !strings.HasSuffix(image, ":"+version) || d.Status.AvailableReplicas == 0 || d.Status.ObservedGeneration < d.Generation {
			return fmt.Sprintf("its image is %s, and %d replicas are available", image, d.Status.AvailableReplicas)
		}
		return ""
	})
}

// awaitReport waits until the program reports all words, or, if the only one is empty, that it is done.
func (o op) awaitReport(t *testing.T, p program, words ...string) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		got := p.report(t, o)
		missing := slices.DeleteFunc(slices.Clone(words), func(word string) bool { return word != "" && strings.Contains(got, word) || word == got })
		if len(missing) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the program does not report %q, but %q", missing, got)
		}
		select {
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// createMigrating creates a custom resource that does not allow an update.
func (o op) createMigrating(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	out := &unstructured.Unstructured{Object: map[string]any{"apiVersion": o.name + ".example.com/v1", "kind": "Widget"}}
	out.SetNamespace(o.namespace)
	out.SetName("example")
	if err := cluster.Rediscovered(t).Client.Create(t.Context(), out); err != nil {
		t.Fatal(err)
	}
	o.setMigrating(t, out, "True")
	return out
}

func (o op) setMigrating(t *testing.T, custom *unstructured.Unstructured, status string) {
	t.Helper()
	custom.Object["status"] = map[string]any{"conditions": []any{map[string]any{
		"type": "Migrating", "status": status, "reason": "Test", "lastTransitionTime": metav1.Now().UTC().Format(time.RFC3339),
	}}}
	if err := cluster.Rediscovered(t).Client.Status().Update(t.Context(), custom); err != nil {
		t.Fatal(err)
	}
}

// awaitEnforced waits until the API server denies the record of an update. It reads the parameters of policies a moment after they were
// written.
func (o op) awaitEnforced(t *testing.T) {
	t.Helper()
	hold := &holdv1alpha1.UpgradeHoldList{}
	if err := cluster.Client.List(t.Context(), hold); err != nil {
		t.Fatal(err)
	}
	probe := func(h holdv1alpha1.UpgradeHold) client.Object {
		switch denied := h.Status.Denied; {
		case denied == nil:
			return nil
		case denied.Revisions != nil:
			out := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
				Namespace: denied.Revisions.Namespace, GenerateName: "enforced-",
				Labels: map[string]string{"owner": "helm", "name": denied.Revisions.Release, "status": "pending-upgrade", "version": "0"},
			}}
			out.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "Secret"})
			return out
		}
		return nil
	}
	for _, h := range hold.Items {
		object := probe(h)
		if object == nil || h.Spec.Operator.Namespace != o.namespace {
			continue
		}
		cluster.Await(t, &h, func() string {
			raw := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret"}}
			raw.SetNamespace(object.GetNamespace())
			raw.SetGenerateName(object.GetGenerateName())
			raw.SetLabels(object.GetLabels())
			if cluster.Client.Create(t.Context(), raw, client.DryRunAll) == nil {
				return "it is not enforced yet"
			}
			return ""
		})
	}
}

// volatile are the kinds that change by themselves.
var volatile = []string{"Event", "Lease", "Pod", "ReplicaSet", "ControllerRevision", "EndpointSlice", "Endpoints", "ComponentStatus", "UpgradeHold", "Probe",
	"Node", "CSINode", "APIService", "FlowSchema", "PriorityLevelConfiguration"}

// snapshot returns the generation of every object of the cluster, apart from volatile ones and the program's own. ConfigMaps and
// Secrets, which have none, have their content.
func snapshot(t *testing.T, p program) map[string]string {
	t.Helper()
	lists, err := discovery.ServerPreferredResources(discovery.NewDiscoveryClientForConfigOrDie(cluster.Config))
	if err != nil {
		t.Fatal(err)
	}
	reader, err := dynamic.NewForConfig(cluster.Config)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, resource := range list.APIResources {
			if slices.Contains(volatile, resource.Kind) || !slices.Contains(resource.Verbs, "list") {
				continue
			}
			found, err := reader.Resource(version.WithResource(resource.Name)).List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatalf("listing %s: %v", resource.Name, err)
			}
			for i := range found.Items {
				if o := &found.Items[i]; !p.own(o) {
					out[fmt.Sprintf("%s %s/%s", resource.Kind, o.GetNamespace(), o.GetName())] = content(o)
				}
			}
		}
	}
	return out
}

// content returns everything that a user or program sets in an object, as text.
func content(o *unstructured.Unstructured) string {
	out := maps.Clone(o.Object)
	delete(out, "status")
	metadata := map[string]any{}
	for _, key := range []string{"labels", "annotations", "generation", "finalizers", "ownerReferences", "deletionTimestamp"} {
		if value, ok := o.Object["metadata"].(map[string]any)[key]; ok {
			metadata[key] = value
		}
	}
	out["metadata"] = metadata
	return fmt.Sprint(out)
}

// newOp returns an operator with a namespace and a name of its own.
func newOp(t *testing.T, name string) op {
	t.Helper()
	out := op{name: name, namespace: cluster.Namespace(t, name)}
	t.Cleanup(func() {
		for _, o := range []client.Object{
			&apiextensions.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "widgets." + name + ".example.com"}},
		} {
			if err := client.IgnoreNotFound(cluster.Client.Delete(context.Background(), o)); err != nil {
				t.Error(err)
			}
		}
	})
	return out
}
