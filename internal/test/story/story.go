// Package story has the story that each program which installs operators has to tell.
package story

import (
	"context"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/client"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/builder"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// manifests is an operator: its Deployment has another image in each version, and its CustomResourceDefinition another description.
const manifests = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: widgets.NAME.example.comANNOTATIONS
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
const (
	First  = "1.0.0"
	Second = "1.1.0"
)

// upgradeable is when an operator may be updated.
const upgradeable = "!Migrating"

// Op is an operator that a program installs.
type Op struct {
	Cluster         *testcluster.Cluster
	Kubeconfig      string // a file
	Name, Namespace string

	// Kind is that of its custom resources. By default these are Widgets of a group of its own.
	Kind schema.GroupKind

	// ByPolicy is whether a ProbePolicy holds the operator, and Annotated whether the author annotated its CustomResourceDefinition. Otherwise
	// the Probe of a user holds it.
	ByPolicy, Annotated bool
}

// Manifests returns those of a version.
func (o Op) Manifests(version string) string { return o.Fill(manifests, version) }

// Fill replaces the names in a template.
func (o Op) Fill(template, version string) string {
	kind := o.kind()
	singular := strings.ToLower(kind.Kind)
	declaration := ""
	if o.Annotated {
		declaration = fmt.Sprintf("\n  annotations: {%s: %q}", v1alpha1.AnnotationUpgradeable, upgradeable)
	}
	return strings.NewReplacer("ANNOTATIONS", declaration, "NAME.example.com", kind.Group, "Widget", kind.Kind, "widget", singular, "NAMESPACE", o.Namespace, "NAME", o.Name,
		"VERSION", version).Replace(template)
}

func (o Op) kind() schema.GroupKind {
	if o.Kind.Kind == "" {
		return schema.GroupKind{Group: o.Name + ".example.com", Kind: "Widget"}
	}
	return o.Kind
}

// CRD returns the name of its CustomResourceDefinition.
func (o Op) CRD() string { return strings.ToLower(o.kind().Kind) + "s." + o.kind().Group }

// Program is a program that installs operators.
type Program interface {
	// Install asks for a version of an operator. The first one is installed after a while.
	Install(t *testing.T, o Op, version string)

	// Report returns the program's own report on its last attempt, and has it try again unless it does by itself.
	Report(t *testing.T, o Op) string

	// Named is the name of the program in the list of operators.
	Named() string

	// Reference returns the operator in the terms of an UpgradeHold.
	Reference(o Op) holdv1alpha1.OperatorReference

	// Own reports whether an object is one with which the program or its user asks for an update, or in which it reports.
	Own(o *unstructured.Unstructured) bool
}

// Waiter is a Program that waits while an update is held, instead of trying it.
type Waiter interface {
	// Waiting returns words of the program's report meanwhile.
	Waiting(o Op) []string
}

// Reporter is a Program whose objects operator-status reports on.
type Reporter interface {
	// CheckHeld verifies that they report a held update.
	CheckHeld(t *testing.T)
}

// Tell tells the story that each program has to tell: while a custom resource does not allow it, nothing of another version is on the
// cluster, and the program says why, whether a manager runs or not.
func Tell(t *testing.T, p Program, o Op) {
	t.Helper()
	manager := o.Cluster.StartManager(t)
	p.Install(t, o, First)
	o.AwaitImage(t, First)
	example := o.createMigrating(t)
	if !o.Annotated {
		o.Cluster.Create(t, o.asks(p))
	}
	hold := &holdv1alpha1.UpgradeHold{ObjectMeta: metav1.ObjectMeta{Name: p.Reference(o).HoldName()}}
	awaitHold := func() {
		t.Helper()
		o.Cluster.Await(t, hold, func() string {
			return testcluster.Lacking(hold.Status.Conditions, "Held=True/ProbeNotUpgradeable", "Enforced=True/PolicyBound")
		})
	}
	awaitHold()
	o.awaitEnforced(t)

	manager.Kill(t)
	o.Cluster.AwaitNoneTerminating(t) // of an earlier test
	before := Snapshot(t, o.Cluster, p.Own)
	p.Install(t, o, Second)
	held := []string{"is held: ", "Migrating", v1alpha1.AnnotationAllowUpgrade}
	if p, ok := p.(Waiter); ok {
		held = p.Waiting(o)
	}
	o.awaitReport(t, p, held...)
	if diff := cmp.Diff(before, Snapshot(t, o.Cluster, p.Own)); diff != "" {
		t.Errorf("the cluster has changed while the update was held:\n%s", diff)
	}
	o.Cluster.StartManager(t)
	awaitHold()
	o.awaitReport(t, p, held...)
	if diff := cmp.Diff(before, Snapshot(t, o.Cluster, p.Own)); diff != "" {
		t.Errorf("the cluster has changed since a manager runs:\n%s", diff)
	}

	o.checkListed(t, p)
	if p, ok := p.(Reporter); ok {
		p.CheckHeld(t)
	}

	o.setMigrating(t, example, "False")
	start := time.Now()
	o.Cluster.AwaitGone(t, hold)
	o.awaitReport(t, p, "")
	o.AwaitImage(t, Second)
	t.Logf("updated %s after the custom resource allowed it", time.Since(start).Round(100*time.Millisecond))
	crd := &apiextensions.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: o.CRD()}}
	o.Cluster.Await(t, crd, func() string {
		if got := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Description; !strings.HasSuffix(got, Second) {
			return "its description is " + got
		}
		return ""
	})
}

// asks returns the object with which a user asks to hold updates.
func (o Op) asks(p Program) client.Object {
	resources := []v1alpha1.ProbeResource{{Name: o.CRD(), Upgradeable: upgradeable}}
	if o.ByPolicy {
		return &holdv1alpha1.ProbePolicy{ObjectMeta: metav1.ObjectMeta{Name: o.Name}, Spec: holdv1alpha1.ProbePolicySpec{ProbeResources: resources}}
	}
	return &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name}, Spec: &v1alpha1.ProbeSpec{
		Operator:       &v1alpha1.ProbedOperator{Installer: string(p.Reference(o).Installer), Name: p.Reference(o).Name},
		ProbeResources: resources,
	}}
}

// probe returns the name of the Probe that holds updates.
func (o Op) probe(p Program) string {
	if o.ByPolicy || o.Annotated {
		return p.Reference(o).ProbeName()
	}
	return o.Name
}

// checkListed verifies that the command line lists the operator, and names what holds it.
func (o Op) checkListed(t *testing.T, p Program) {
	t.Helper()
	run := func(args ...string) (string, error) {
		args = append(args, o.Name, "-n", o.Namespace, "--kubeconfig", o.Kubeconfig)
		out, err := exec.CommandContext(t.Context(), filepath.Join(testcluster.Root(), "bin", "kubectl-operator_status"), args...).CombinedOutput()
		return string(out), err
	}
	got, err := run("get", "-o", `jsonpath={range .items[*]}{.installer} {.version} {.state} {.upgradeable} {.blocked} {.blockers[*].by}{end}`)
	want := fmt.Sprintf("%s %s Running False Held Probe %s/%s", p.Named(), First, o.Namespace, o.probe(p))
	if err != nil || got != want {
		t.Errorf("kubectl operator-status get prints %q and returns %v, want %q", got, err, want)
	}
	tree, err := run("tree")
	for _, node := range []string{"Deployment " + o.Namespace + "/" + o.Name, "Widget " + o.Namespace + "/", "UpgradeHold " + p.Reference(o).HoldName()} {
		if err != nil || !strings.Contains(tree, node) {
			t.Errorf("kubectl operator-status tree returns %v and does not print %q:\n%s", err, node, tree)
		}
	}
}

// AwaitImage waits until the operator runs in a version.
func (o Op) AwaitImage(t *testing.T, version string) {
	t.Helper()
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name}}
	o.Cluster.Await(t, d, func() string {
		image := d.Spec.Template.Spec.Containers[0].Image
		if !strings.HasSuffix(image, ":"+version) || d.Status.AvailableReplicas == 0 || d.Status.ObservedGeneration < d.Generation {
			return fmt.Sprintf("its image is %s, and %d replicas are available", image, d.Status.AvailableReplicas)
		}
		return ""
	})
}

// awaitReport waits until the program reports all words, or, if the only one is empty, that it is done.
func (o Op) awaitReport(t *testing.T, p Program, words ...string) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		got := p.Report(t, o)
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
func (o Op) createMigrating(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	out := &unstructured.Unstructured{Object: map[string]any{"apiVersion": o.kind().Group + "/v1", "kind": o.kind().Kind}}
	out.SetNamespace(o.Namespace)
	out.SetName("example")
	if err := o.Cluster.Rediscovered(t).Client.Create(t.Context(), out); err != nil {
		t.Fatal(err)
	}
	o.setMigrating(t, out, "True")
	return out
}

func (o Op) setMigrating(t *testing.T, custom *unstructured.Unstructured, status string) {
	t.Helper()
	custom.Object["status"] = map[string]any{"conditions": []any{map[string]any{
		"type": "Migrating", "status": status, "reason": "Test", "lastTransitionTime": metav1.Now().UTC().Format(time.RFC3339),
	}}}
	if err := o.Cluster.Rediscovered(t).Client.Status().Update(t.Context(), custom); err != nil {
		t.Fatal(err)
	}
}

// awaitEnforced waits until the API server denies an update with the message about the custom resource. It reads the index of UpgradeHolds
// a moment after that was written, and the index gets a new message a moment after an UpgradeHold did.
func (o Op) awaitEnforced(t *testing.T) {
	t.Helper()
	holds := &holdv1alpha1.UpgradeHoldList{}
	if err := o.Cluster.Client.List(t.Context(), holds); err != nil {
		t.Fatal(err)
	}
	for i := range holds.Items {
		h := &holds.Items[i]
		if h.Spec.Operator.Namespace != o.Namespace {
			continue
		}
		o.Cluster.Await(t, h, func() string {
			if err := o.tryUpdate(t, h.Status.Denied); err == nil || !strings.Contains(err.Error(), "Migrating") {
				return fmt.Sprintf("trying what it denies returns %v", err)
			}
			if h.Spec.Operator.Installer == holdv1alpha1.InstallerOLMv1 || h.Spec.Operator.Installer == holdv1alpha1.InstallerOLM {
				return "" // these write no CustomResourceDefinition before the object that is denied
			}
			if err := o.tryDefinition(t); err == nil || !strings.Contains(err.Error(), "Migrating") {
				return fmt.Sprintf("changing the CustomResourceDefinition returns %v", err)
			}
			return ""
		})
	}
}

// tryUpdate has the API server judge the record of another revision, or another image of the Deployment.
func (o Op) tryUpdate(t *testing.T, denied *holdv1alpha1.DeniedUpdates) error {
	t.Helper()
	if denied != nil && denied.Revisions != nil {
		namespace, owner := denied.Revisions.Namespace, "helm"
		if denied.Revisions.Owner != "" { // OLM v1, whose records are denied in any namespace
			namespace, owner = o.Namespace, denied.Revisions.Owner
		}
		record := builder.Object("v1", "Secret", namespace, "enforced")
		record.SetLabels(map[string]string{"owner": owner, "name": denied.Revisions.Release, "status": "pending-upgrade", "version": "0"})
		return o.Cluster.Client.Create(t.Context(), record, client.DryRunAll)
	}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name}}
	image := []byte(`[{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "example.com/enforced"}]`)
	return o.Cluster.Client.Patch(t.Context(), d, client.RawPatch(types.JSONPatchType, image), client.DryRunAll)
}

// tryDefinition has the API server judge another schema of the CustomResourceDefinition.
func (o Op) tryDefinition(t *testing.T) error {
	t.Helper()
	crd := &apiextensions.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: o.CRD()}}
	another := []byte(`[{"op": "replace", "path": "/spec/versions/0/schema/openAPIV3Schema/description", "value": "another"}]`)
	return o.Cluster.Client.Patch(t.Context(), crd, client.RawPatch(types.JSONPatchType, another), client.DryRunAll)
}

// volatile are the kinds that change by themselves. So does the index of UpgradeHolds.
var volatile = []string{"Event", "Lease", "Pod", "ReplicaSet", "ControllerRevision", "EndpointSlice", "Endpoints", "ComponentStatus", "UpgradeHold", "Probe",
	"Node", "CSINode", "APIService", "FlowSchema", "PriorityLevelConfiguration"}

// Snapshot returns the content of every object of a cluster, without status, apart from volatile ones and those that own selects.
func Snapshot(t *testing.T, cluster *testcluster.Cluster, own func(*unstructured.Unstructured) bool) map[string]string {
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
			if apierrors.IsNotFound(err) { // its CustomResourceDefinition was deleted meanwhile
				continue
			}
			if err != nil {
				t.Fatalf("listing %s: %v", resource.Name, err)
			}
			for i := range found.Items {
				found := &found.Items[i]
				if _, index := found.GetLabels()[holdv1alpha1.LabelDenies]; !index && !own(found) {
					out[fmt.Sprintf("%s %s/%s", resource.Kind, found.GetNamespace(), found.GetName())] = content(found)
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

// New returns an operator with a namespace and a name of its own.
func New(t *testing.T, cluster *testcluster.Cluster, kubeconfig, name string) Op {
	t.Helper()
	return In(t, cluster, kubeconfig, cluster.Namespace(t, name), name)
}

// In is like New, in a namespace that exists.
func In(t *testing.T, cluster *testcluster.Cluster, kubeconfig, namespace, name string) Op {
	t.Helper()
	out := Op{Cluster: cluster, Kubeconfig: kubeconfig, Name: name, Namespace: namespace}
	t.Cleanup(func() {
		for _, o := range []client.Object{
			&apiextensions.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "widgets." + name + ".example.com"}},
			&holdv1alpha1.ProbePolicy{ObjectMeta: metav1.ObjectMeta{Name: name}},
		} {
			if err := client.IgnoreNotFound(cluster.Client.Delete(context.Background(), o)); err != nil {
				t.Error(err)
			}
		}
	})
	return out
}
