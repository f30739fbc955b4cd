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
	"github.com/operator-status/operator-status/internal/annotations"
	"github.com/operator-status/operator-status/internal/csvchain"
	"github.com/operator-status/operator-status/internal/installer/builtin/install"
	"github.com/operator-status/operator-status/internal/installer/builtin/record"
)

// Scope is the OperatorGroup that a plan installs into, and its target namespaces.
type Scope struct {
	Group   *operatorsv1.OperatorGroup
	Targets []string // as operatorgroup.Targets returns them
}

// task is one object that a plan writes.
type task struct {
	bundle *record.Bundle
	csv    *v1alpha1.ClusterServiceVersion // of the bundle, as it is written
	phase  phase

	// object is the object to write, except for fields that are only known then, such as the UID of its owner.
	object *unstructured.Unstructured

	// right is true if the object grants the operator permissions. It is rendered again when its owner is known, to
	// match the CSV controller's object exactly.
	right bool

	// declared is true if the object is the Probe that the bundle's annotations ask for. A Probe among its manifests is not.
	declared bool

	// rendered is true if the plan only dry-runs the object, since the CSV controller writes it.
	rendered bool
}

// phase identifies tasks that do not depend on each other.
type phase struct {
	bundle string
	rank   int
}

// Ranks of a bundle's objects, in the order in which they are written.
const (
	rankReplacing   = iota // a CSV that replaces another one: the update is visible before anything changes
	rankDefinitions        // of the kinds of the following objects
	rankCSV                // owns the following objects
	rankObjects
	rankBindings // of roles, which have to exist
	rankProbe
)

const kindCRD = "CustomResourceDefinition"

// tasksOf returns the writes of a plan in order, bundle by bundle.
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
		out = append(out, task{bundle: b, csv: csv.typed, object: p, declared: true, phase: phase{b.Name, rankProbe}})
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

// stamped is the CSV of a bundle as it is written.
type stamped struct {
	object *unstructured.Unstructured
	typed  *v1alpha1.ClusterServiceVersion
}

// csvOf returns a bundle's CSV with the CSV that it really replaces, and annotations about its origin and
// OperatorGroup. OLM rewrites `replaces` too: an update by skipRange would otherwise not replace its predecessor.
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
	annotations[csvchain.AnnotationProperties] = b.Properties
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

// rightsOf returns the objects that grant an operator permissions, without owners.
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

// installOf returns the install of a CSV that is granted everything its bundle asks for.
func installOf(csv *v1alpha1.ClusterServiceVersion, in Scope) install.Install {
	return install.Install{CSV: csv, Group: in.Group, Targets: in.Targets, Grant: install.GrantOf(&csv.Spec)}
}

// probeOf returns the Probe that annotations of a bundle's CustomResourceDefinitions ask for, without an owner, or nil.
func probeOf(csv *v1alpha1.ClusterServiceVersion, b *record.Bundle) *unstructured.Unstructured {
	desired := annotations.BundleProbe(csv, b.Objects)
	if desired == nil {
		return nil
	}
	desired.OwnerReferences = nil
	raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(desired)
	if err != nil {
		return nil // cannot fail for a Probe that we created
	}
	out := &unstructured.Unstructured{Object: raw}
	out.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Probe"))
	unstructured.RemoveNestedField(raw, "status")
	unstructured.RemoveNestedField(raw, "metadata", "creationTimestamp")
	return out
}

func (t task) title() string {
	return fmt.Sprintf("%s %s of %s", t.object.GetKind(), t.object.GetName(), t.bundle.Name)
}

// isNew reports whether an object is only created, and left as it is if it exists: a Subscription belongs to its user,
// a Probe may belong to another user, and a service account may be shared by operators.
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

// ownerReference returns a reference to a bundle's CSV for the bundle's objects.
func ownerReference(csv *unstructured.Unstructured) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: csv.GetAPIVersion(), Kind: csv.GetKind(), Name: csv.GetName(), UID: csv.GetUID()}
}
