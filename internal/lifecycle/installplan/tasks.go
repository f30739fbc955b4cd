package installplan

import (
	"cmp"
	"fmt"
	"slices"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/lifecycle/csv/install"
	"github.com/operator-status/operator-status/internal/lifecycle/record"
	"github.com/operator-status/operator-status/internal/lifecycle/surroundings"
	"github.com/operator-status/operator-status/internal/probe"
)

// Scope is where a plan installs: its namespace, and what the operators of that watch.
type Scope struct {
	Group   *operatorsv1.OperatorGroup
	Targets []string // as operatorgroup.Targets returns them
}

// task is one object that a plan writes.
type task struct {
	bundle *record.Bundle
	csv    *v1alpha1.ClusterServiceVersion // of the bundle, as it is written
	phase  phase

	// object is what is written, but for what is only known then, such as the UID of its owner.
	object *unstructured.Unstructured

	// right is true for one of the objects that grant the operator its rights. They are rendered anew when their owner is known,
	// so that they are just what the loop of ClusterServiceVersions keeps them at.
	right bool

	// rendered is true for an object that the plan only dry-runs: the loop of ClusterServiceVersions writes it.
	rendered bool
}

// phase is what tasks have in common that do not depend on each other.
type phase struct {
	bundle string
	rank   int
}

// The ranks of a bundle's objects, in the order in which they are written.
const (
	rankReplacing   = iota // a ClusterServiceVersion that replaces another one: that this happens is known before anything changes
	rankDefinitions        // which what follows is of
	rankCSV                // owns what follows
	rankObjects
	rankBindings // of roles, which have to exist
	rankProbe
)

const kindCRD = "CustomResourceDefinition"

// tasksOf returns what a plan writes, in its order. Bundles follow each other.
func tasksOf(content *record.Content, planName string, in Scope) ([]task, error) {
	var out []task
	for i := range content.Bundles {
		tasks, err := bundleTasks(&content.Bundles[i], planName, in)
		if err != nil {
			return nil, fmt.Errorf("bundle %s of CatalogSource %s: %w", content.Bundles[i].Name, content.Bundles[i].Catalog, err)
		}
		out = append(out, tasks...)
	}
	return out, nil
}

func bundleTasks(b *record.Bundle, planName string, in Scope) ([]task, error) {
	csv, err := csvOf(b, planName, in)
	if err != nil {
		return nil, err
	}
	var out []task
	for _, o := range b.Objects {
		if o.GetKind() == v1alpha1.ClusterServiceVersionKind {
			o = csv.object
		}
		out = append(out, task{bundle: b, csv: csv.typed, object: o.DeepCopy(), phase: phase{b.Name, rankOf(b, o)}})
	}
	rights, err := rightsOf(csv.typed, in)
	if err != nil {
		return nil, err
	}
	for _, o := range rights {
		out = append(out, task{bundle: b, csv: csv.typed, object: o, right: true, phase: phase{b.Name, rankOf(b, o)}})
	}
	if p := probeOf(csv.typed, b); p != nil {
		out = append(out, task{bundle: b, csv: csv.typed, object: p, phase: phase{b.Name, rankProbe}})
	}
	slices.SortStableFunc(out, func(x, y task) int { return cmp.Compare(x.phase.rank, y.phase.rank) })
	return out, nil
}

func rankOf(b *record.Bundle, o *unstructured.Unstructured) int {
	switch o.GetKind() {
	case kindCRD:
		return rankDefinitions
	case v1alpha1.ClusterServiceVersionKind:
		if b.Replaces != "" {
			return rankReplacing
		}
		return rankCSV
	case "RoleBinding", "ClusterRoleBinding":
		return rankBindings
	}
	return rankObjects
}

// stamped is the ClusterServiceVersion of a bundle as it is written.
type stamped struct {
	object *unstructured.Unstructured
	typed  *v1alpha1.ClusterServiceVersion
}

// csvOf is a bundle's ClusterServiceVersion with what it really replaces, whence it came, and what it watches. OLM rewrites
// `replaces` too: an update by skipRange would otherwise never be adopted.
func csvOf(b *record.Bundle, planName string, in Scope) (stamped, error) {
	i := slices.IndexFunc(b.Objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == v1alpha1.ClusterServiceVersionKind })
	if i < 0 {
		return stamped{}, fmt.Errorf("it has no %s", v1alpha1.ClusterServiceVersionKind)
	}
	o := b.Objects[i].DeepCopy()
	if b.Replaces == "" {
		unstructured.RemoveNestedField(o.Object, "spec", "replaces")
	} else if err := unstructured.SetNestedField(o.Object, b.Replaces, "spec", "replaces"); err != nil {
		return stamped{}, err
	}
	annotations := o.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[surroundings.AnnotationProperties] = b.Properties
	annotations[v1alpha1.AnnotationInstallPlan] = planName
	annotations[v1alpha1.AnnotationSubscription] = b.Subscription
	annotations[v1alpha1.AnnotationCatalogSource] = b.Catalog.String()
	annotations[operatorsv1.OperatorGroupAnnotationKey] = in.Group.Name
	annotations[operatorsv1.OperatorGroupNamespaceAnnotationKey] = in.Group.Namespace
	annotations[operatorsv1.OperatorGroupTargetsAnnotationKey] = install.TargetsAnnotation(in.Targets)
	o.SetAnnotations(annotations)
	o.SetNamespace(in.Group.Namespace)
	typed := &v1alpha1.ClusterServiceVersion{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, typed); err != nil {
		return stamped{}, fmt.Errorf("%s %s: %w", v1alpha1.ClusterServiceVersionKind, o.GetName(), err)
	}
	return stamped{o, typed}, nil
}

// rightsOf are the objects that grant an operator its rights, without owners.
func rightsOf(csv *v1alpha1.ClusterServiceVersion, in Scope) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for _, o := range install.Permissions(installOf(csv, in)) {
		raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o.Object)
		if err != nil {
			return nil, err
		}
		u := &unstructured.Unstructured{Object: raw}
		unstructured.RemoveNestedField(raw, "metadata", "creationTimestamp")
		u.SetOwnerReferences(nil)
		out = append(out, u)
	}
	return out, nil
}

// installOf is the install of a ClusterServiceVersion with all that its bundle asks for.
func installOf(csv *v1alpha1.ClusterServiceVersion, in Scope) install.Install {
	return install.Install{CSV: csv, Group: in.Group, Targets: in.Targets, Grant: install.GrantOf(&csv.Spec)}
}

// probeOf is the Probe that a bundle's CustomResourceDefinitions ask for; nil if they do not. It has no owner.
func probeOf(csv *v1alpha1.ClusterServiceVersion, b *record.Bundle) *unstructured.Unstructured {
	desired := probe.FromBundle(csv, b.Objects)
	if desired == nil {
		return nil
	}
	desired.OwnerReferences = nil
	raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(desired)
	if err != nil {
		return nil // a Probe that we made can be converted
	}
	out := &unstructured.Unstructured{Object: raw}
	out.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Probe"))
	unstructured.RemoveNestedField(raw, "status")
	unstructured.RemoveNestedField(raw, "metadata", "creationTimestamp")
	return out
}

// title names a task's object for people.
func (t task) title() string {
	return fmt.Sprintf("%s %s of %s", t.object.GetKind(), t.object.GetName(), t.bundle.Name)
}

// isNew reports whether an object is only created: one that exists by its name is left as it is. A Subscription is its user's, a
// Probe may be another's, and a service account may serve other operators.
func (t task) isNew() bool {
	gvk := t.object.GroupVersionKind()
	switch gvk.Kind {
	case v1alpha1.SubscriptionKind, "Probe":
		return gvk.Group == v1alpha1.GroupVersion.Group
	case "ServiceAccount":
		return t.right
	}
	return false
}

// ownerReference is how the objects of a bundle refer to its ClusterServiceVersion.
func ownerReference(csv *unstructured.Unstructured) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: csv.GetAPIVersion(), Kind: csv.GetKind(), Name: csv.GetName(), UID: csv.GetUID()}
}
