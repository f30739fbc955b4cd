// Package platformoperator composes the objects of an operator from a PlatformOperator, and reports their state in one status.
package platformoperator

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"

	operatorsv1alpha1 "github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/api/platform/v1alpha1"
	"github.com/operator-status/operator-status/internal/status/condition"
)

// The names of the entries in `status.resources` that every PlatformOperator composes.
const (
	EntryNamespace     = "namespace"
	EntryOperatorGroup = "operatorgroup"
	EntrySubscription  = "subscription"
)

// Existing holds the existing objects that the composition depends on.
type Existing struct {
	// DefaultCatalog is the catalog of the packages whose PlatformOperator names none.
	DefaultCatalog types.NamespacedName

	// NamespaceOfOthers is the namespace if it exists and belongs to another owner, or nil.
	NamespaceOfOthers *unstructured.Unstructured

	// NamespaceReserved reports whether no PlatformOperator may install in the namespace.
	NamespaceReserved bool

	// Groups are the OperatorGroups of the namespace.
	Groups []operatorsv1.OperatorGroup

	// Subscriptions are those in the namespace that are for the package or that the PlatformOperator controls.
	Subscriptions []operatorsv1alpha1.Subscription

	// InstallModes are those of the operator, or empty until its ClusterServiceVersion exists.
	InstallModes []olm.InstallMode
}

// Desired is an object that a PlatformOperator composes.
type Desired struct {
	// Entry is the name of the object in `status.resources`.
	Entry  string
	Object *unstructured.Unstructured
	Checks []v1alpha1.ReadinessCheck
}

// Compose returns the objects that a PlatformOperator consists of. It is pure. It does not copy the PlatformOperator's
// labels and annotations: a GitOps tool would take an object with its labels for one that it manages.
func Compose(op *v1alpha1.PlatformOperator, existing Existing) []Desired {
	if op.Spec.ManagementPolicy == v1alpha1.ManagementObserve {
		return nil
	}
	var out []Desired
	add := func(entry string, checks []v1alpha1.ReadinessCheck, o *unstructured.Unstructured) {
		if o != nil {
			out = append(out, Desired{Entry: entry, Object: owned(op, o), Checks: checks})
		}
	}
	add(EntryNamespace, nil, namespaceOf(op, existing))
	add(EntryOperatorGroup, nil, operatorGroupOf(op, existing))
	add(EntrySubscription, nil, subscriptionOf(op, existing))
	for _, r := range op.Spec.Resources {
		add(r.Name, r.ReadinessChecks, resourceOf(r))
	}
	return out
}

// BlockedBy returns why nothing may be created for a PlatformOperator, or nil. Any subject that administers the
// namespace controls the operator's service accounts: with an OperatorGroup for all namespaces, the whole cluster.
func (s Existing) BlockedBy(op *v1alpha1.PlatformOperator) *condition.Problem {
	namespace := op.GetNamespaceToInstallIn()
	switch {
	case s.NamespaceReserved:
		return &condition.Problem{Reason: v1alpha1.ReasonNamespaceReserved, Message: fmt.Sprintf(
			"Nothing is created in namespace %s, which is reserved: set another in spec.namespace, or remove it from --reserved-namespaces of the manager",
			namespace)}
	case s.NamespaceOfOthers != nil && op.Spec.Namespace == "":
		taken := Conflict{s.NamespaceOfOthers}
		return &condition.Problem{Reason: v1alpha1.ReasonConflict, Message: fmt.Sprintf(
			"%s. To use the existing namespace: name it in spec.namespace", taken.Message(op.Name))}
	}
	return nil
}

// namespaceOf returns the Namespace to compose. It is nil if the spec names one of another owner, which is used as it is.
func namespaceOf(op *v1alpha1.PlatformOperator, existing Existing) *unstructured.Unstructured {
	if op.Spec.Namespace != "" && existing.NamespaceOfOthers != nil {
		return nil
	}
	return NewObject("v1", "Namespace", "", op.GetNamespaceToInstallIn())
}

// operatorGroupOf returns the OperatorGroup to compose: for all namespaces if the operator supports that, else for its
// own. It is nil if the namespace has an OperatorGroup of another owner: a second one would stop every operator in it.
func operatorGroupOf(op *v1alpha1.PlatformOperator, existing Existing) *unstructured.Unstructured {
	name := op.Name
	for _, group := range sorted(op, existing.Groups) {
		if !Controls(op, group) && !Consents(op, group) {
			return nil
		}
		name = group.GetName()
	}
	namespace := op.GetNamespaceToInstallIn()
	out := NewObject(operatorsv1.GroupVersion.String(), "OperatorGroup", namespace, name)
	out.Object["spec"] = map[string]any{}
	if !supports(existing.InstallModes, olm.InstallModeTypeAllNamespaces) && supports(existing.InstallModes, olm.InstallModeTypeOwnNamespace) {
		out.Object["spec"] = map[string]any{"targetNamespaces": []any{namespace}}
	}
	return out
}

// supports reports whether the operator supports an install mode. It is true while the install modes are not known.
func supports(modes []olm.InstallMode, t olm.InstallModeType) bool {
	return len(modes) == 0 || slices.ContainsFunc(modes, func(m olm.InstallMode) bool { return m.Type == t && m.Supported })
}

// catalogOf returns the catalog of the package.
func catalogOf(op *v1alpha1.PlatformOperator, defaultCatalog types.NamespacedName) types.NamespacedName {
	named := op.Spec.Package.Catalog
	if named == nil {
		return defaultCatalog
	}
	return types.NamespacedName{Namespace: cmp.Or(named.Namespace, defaultCatalog.Namespace), Name: named.Name}
}

// subscriptionOf returns the Subscription to compose. It is always Manual: OLM would update an Automatic one without
// evaluating the Probe. Unless spec.approval is Manual, the label lets operator-status approve, with OLM or without.
func subscriptionOf(op *v1alpha1.PlatformOperator, existing Existing) *unstructured.Unstructured {
	pkg := op.Spec.Package
	catalog := catalogOf(op, existing.DefaultCatalog)
	out := NewObject(operatorsv1alpha1.GroupVersion.String(), operatorsv1alpha1.SubscriptionKind, op.GetNamespaceToInstallIn(), subscriptionName(op, existing))
	if op.Spec.Approval != olm.ApprovalManual {
		out.SetLabels(map[string]string{operatorsv1alpha1.LabelGate: operatorsv1alpha1.GateApproval})
	}
	if pkg.Version != "" {
		out.SetAnnotations(map[string]string{operatorsv1alpha1.AnnotationVersion: pkg.Version})
	}
	spec := map[string]any{
		"name": pkg.Name, "source": catalog.Name, "sourceNamespace": catalog.Namespace, "installPlanApproval": string(olm.ApprovalManual),
	}
	if pkg.Channel != "" {
		spec["channel"] = pkg.Channel
	}
	if pkg.StartingCSV != "" {
		spec["startingCSV"] = pkg.StartingCSV
	}
	if op.Spec.Config != nil {
		config := map[string]any{}
		if err := json.Unmarshal(op.Spec.Config.Raw, &config); err == nil && len(config) > 0 { // the API server admits only objects
			spec["config"] = config
		}
	}
	out.Object["spec"] = spec
	return out
}

// subscriptionName returns the name of an existing Subscription to the package, or else the PlatformOperator's. Its own
// comes first, then one to adopt. One of another owner is a conflict: a second Subscription would interfere.
func subscriptionName(op *v1alpha1.PlatformOperator, existing Existing) string {
	if subs := sorted(op, existing.Subscriptions); len(subs) > 0 {
		return subs[len(subs)-1].GetName()
	}
	return op.Name
}

// IsComposed reports whether an entry of `status.resources` is one that every PlatformOperator composes.
func IsComposed(entry string) bool {
	return entry == EntryNamespace || entry == EntryOperatorGroup || entry == EntrySubscription
}

// sorted returns other owners' objects first, then those that may be adopted, then its own; each by name, descending.
func sorted[T any, O interface {
	*T
	metav1.Object
}](op *v1alpha1.PlatformOperator, objects []T) []O {
	near := func(o O) int {
		switch {
		case Controls(op, o):
			return 2
		case Consents(op, o):
			return 1
		}
		return 0
	}
	out := make([]O, 0, len(objects))
	for i := range objects {
		out = append(out, O(&objects[i]))
	}
	slices.SortFunc(out, func(a, b O) int { return cmp.Or(cmp.Compare(near(a), near(b)), cmp.Compare(b.GetName(), a.GetName())) })
	return out
}

// resourceOf returns an object of `spec.resources`. It is nil if the manifest is not an object, which the API server rejects.
func resourceOf(r v1alpha1.Resource) *unstructured.Unstructured {
	content := map[string]any{}
	if err := json.Unmarshal(r.Manifest.Raw, &content); err != nil {
		return nil
	}
	out := &unstructured.Unstructured{Object: content}
	if out.GetAPIVersion() == "" || out.GetKind() == "" || out.GetName() == "" {
		return nil
	}
	unstructured.RemoveNestedField(content, "status")
	for _, field := range []string{
		"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink",
		"managedFields", "ownerReferences",
	} {
		unstructured.RemoveNestedField(content, "metadata", field)
	}
	return out
}

// owned sets the PlatformOperator's label and controller reference on an object.
func owned(op *v1alpha1.PlatformOperator, o *unstructured.Unstructured) *unstructured.Unstructured {
	labels := o.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[v1alpha1.LabelPlatformOperator] = label(op.Name)
	o.SetLabels(labels)
	o.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(op, v1alpha1.GroupVersion.WithKind(v1alpha1.PlatformOperatorKind))})
	return o
}

// Unblock clears blockOwnerDeletion. Setting it requires permission to update the owner's finalizers if the API server
// checks that (OwnerReferencesPermissionEnforcement), and our own finalizer makes it unnecessary.
func Unblock(o *unstructured.Unstructured) {
	owners := o.GetOwnerReferences()
	for i := range owners {
		owners[i].BlockOwnerDeletion = nil
	}
	o.SetOwnerReferences(owners)
}

// label shortens a name to a valid label value, which only selects the objects to watch; the owner reference is decisive.
func label(name string) string {
	const longest = 63
	if len(name) <= longest {
		return name
	}
	name = name[:longest]
	for name[len(name)-1] == '.' || name[len(name)-1] == '-' {
		name = name[:len(name)-1]
	}
	return name
}

// Controls reports whether the PlatformOperator is the controller of an object.
func Controls(op *v1alpha1.PlatformOperator, o metav1.Object) bool {
	ref := metav1.GetControllerOfNoCopy(o)
	return ref != nil && ref.UID == op.UID
}

// Consents reports whether an object has no controller, and its annotation lets the PlatformOperator adopt it.
func Consents(op *v1alpha1.PlatformOperator, o metav1.Object) bool {
	return metav1.GetControllerOfNoCopy(o) == nil && o.GetAnnotations()[v1alpha1.AnnotationAdopt] == op.Name
}

// NewObject returns an object with only its identity.
func NewObject(apiVersion, kind, namespace, name string) *unstructured.Unstructured {
	out := &unstructured.Unstructured{Object: map[string]any{}}
	out.SetAPIVersion(apiVersion)
	out.SetKind(kind)
	out.SetNamespace(namespace)
	out.SetName(name)
	return out
}

// Title returns the kind, namespace and name of an object, as messages use them.
func Title(o *unstructured.Unstructured) string {
	if o.GetNamespace() == "" {
		return fmt.Sprintf("%s %s", o.GetKind(), o.GetName())
	}
	return fmt.Sprintf("%s %s/%s", o.GetKind(), o.GetNamespace(), o.GetName())
}

// Conflict is the error for an object that belongs to another owner.
type Conflict struct{ Live *unstructured.Unstructured }

func (c *Conflict) Error() string { return Title(c.Live) + " belongs to another owner" }

// Message returns a message with the owner of the object, or how to hand the object over to adopter if it has none.
func (c *Conflict) Message(adopter string) string {
	if ref := metav1.GetControllerOf(c.Live); ref != nil {
		return fmt.Sprintf("%s belongs to %s %s, and is not changed", Title(c.Live), ref.Kind, ref.Name)
	}
	namespace := ""
	if c.Live.GetNamespace() != "" {
		namespace = " -n " + c.Live.GetNamespace()
	}
	return fmt.Sprintf("%s already exists and is not changed. To hand it over: kubectl annotate%s %s %s %s=%s", Title(c.Live), namespace,
		resourceName(c.Live), c.Live.GetName(), v1alpha1.AnnotationAdopt, adopter)
}

// resourceName returns the name of a kind that kubectl accepts.
func resourceName(o *unstructured.Unstructured) string {
	kind := o.GroupVersionKind()
	if kind.Group == "" {
		return strings.ToLower(kind.Kind)
	}
	return strings.ToLower(kind.Kind) + "." + kind.Group
}
