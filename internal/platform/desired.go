// Package platform makes an operator out of a PlatformOperator: the objects that it consists of, and the one status that tells
// how all of them are.
package platform

import (
	"cmp"
	"fmt"
	"slices"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"

	operatorsv1alpha1 "github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/api/platform/v1alpha1"
)

// The names under which `status.resources` tells of what is composed anyway.
const (
	entryNamespace     = "namespace"
	entryOperatorGroup = "operatorgroup"
	entrySubscription  = "subscription"
)

// Surroundings are what is there already that decides what is to be made.
type Surroundings struct {
	// DefaultCatalog is where packages come from whose PlatformOperator names none.
	DefaultCatalog types.NamespacedName

	// NamespaceOfOthers is the namespace if the PlatformOperator does not control it; nil if it does, or if the namespace does not exist.
	NamespaceOfOthers *unstructured.Unstructured

	// NamespaceReserved reports whether no PlatformOperator may install in the namespace.
	NamespaceReserved bool

	// Groups are the OperatorGroups of the namespace.
	Groups []operatorsv1.OperatorGroup

	// Subscriptions are those of the namespace that are for the package or the PlatformOperator's own.
	Subscriptions []operatorsv1alpha1.Subscription

	// InstallModes are those of the operator; empty until its ClusterServiceVersion is there.
	InstallModes []olm.InstallMode
}

// Desired is an object that a PlatformOperator is to consist of.
type Desired struct {
	// Entry is its name in `status.resources`.
	Entry  string
	Object *unstructured.Unstructured
	Checks []v1alpha1.ReadinessCheck
}

// Compose says what a PlatformOperator is to consist of. It reads nothing else and changes nothing. Labels and annotations of
// the PlatformOperator stay its own: a GitOps tool would take an object that carries its labels for one of its own.
func Compose(op *v1alpha1.PlatformOperator, around Surroundings) []Desired {
	if op.Spec.ManagementPolicy == v1alpha1.ManagementObserve {
		return nil
	}
	var out []Desired
	add := func(entry string, checks []v1alpha1.ReadinessCheck, o *unstructured.Unstructured) {
		if o != nil {
			out = append(out, Desired{Entry: entry, Object: owned(op, o), Checks: checks})
		}
	}
	add(entryNamespace, nil, namespaceOf(op, around))
	add(entryOperatorGroup, nil, operatorGroupOf(op, around))
	add(entrySubscription, nil, subscriptionOf(op, around))
	for _, r := range op.Spec.Resources {
		add(r.Name, r.ReadinessChecks, resourceOf(r))
	}
	return out
}

// bars returns why nothing may be created for a PlatformOperator; nil if it may. Any subject that administers the namespace would control
// the operator's service accounts, and with an OperatorGroup for all namespaces that is the whole cluster.
func (s Surroundings) bars(op *v1alpha1.PlatformOperator) *Problem {
	namespace := op.GetNamespaceToInstallIn()
	switch {
	case s.NamespaceReserved:
		return &Problem{Reason: v1alpha1.ReasonNamespaceReserved, Message: fmt.Sprintf(
			"Nothing is made in namespace %s, which is reserved: name another in spec.namespace, or have --reserved-namespaces of the manager not say so",
			namespace)}
	case s.NamespaceOfOthers != nil && op.Spec.Namespace == "":
		taken := conflict{s.NamespaceOfOthers}
		return &Problem{Reason: v1alpha1.ReasonConflict, Message: fmt.Sprintf(
			"%s. To install the operator beside what is in it: name it in spec.namespace", taken.words(op.Name))}
	}
	return nil
}

// namespaceOf is the namespace to make. One that the spec names and that is somebody else's is used as it is.
func namespaceOf(op *v1alpha1.PlatformOperator, around Surroundings) *unstructured.Unstructured {
	if op.Spec.Namespace != "" && around.NamespaceOfOthers != nil {
		return nil
	}
	return object("v1", "Namespace", "", op.GetNamespaceToInstallIn())
}

// operatorGroupOf is the OperatorGroup to make: for all namespaces if the operator can, else for its own. Where the namespace
// has one already a second would stop every operator in it.
func operatorGroupOf(op *v1alpha1.PlatformOperator, around Surroundings) *unstructured.Unstructured {
	name := op.Name
	for _, group := range sorted(op, around.Groups) {
		if !controls(op, group) && !consents(op, group) {
			return nil
		}
		name = group.GetName()
	}
	namespace := op.GetNamespaceToInstallIn()
	out := object(operatorsv1.GroupVersion.String(), "OperatorGroup", namespace, name)
	out.Object["spec"] = map[string]any{}
	if !supports(around.InstallModes, olm.InstallModeTypeAllNamespaces) && supports(around.InstallModes, olm.InstallModeTypeOwnNamespace) {
		out.Object["spec"] = map[string]any{"targetNamespaces": []any{namespace}}
	}
	return out
}

// supports is true where an operator can be installed so, and where nobody knows yet.
func supports(modes []olm.InstallMode, t olm.InstallModeType) bool {
	return len(modes) == 0 || slices.ContainsFunc(modes, func(m olm.InstallMode) bool { return m.Type == t && m.Supported })
}

// subscriptionOf is the Subscription to make. Beside an OLM an Automatic one would be updated without asking the operator: a
// Manual one is composed instead, whose approval is left to operator-status. Without one the label says the same.
func subscriptionOf(op *v1alpha1.PlatformOperator, around Surroundings) *unstructured.Unstructured {
	pkg := op.Spec.Package
	catalog := around.DefaultCatalog
	if c := pkg.Catalog; c != nil {
		catalog.Name = c.Name
		if c.Namespace != "" {
			catalog.Namespace = c.Namespace
		}
	}
	out := object(operatorsv1alpha1.GroupVersion.String(), operatorsv1alpha1.SubscriptionKind, op.GetNamespaceToInstallIn(), subscriptionName(op, around))
	if op.Spec.Approval != olm.ApprovalManual {
		out.SetLabels(map[string]string{operatorsv1alpha1.LabelGate: operatorsv1alpha1.GateApproval})
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
		if err := json.Unmarshal(op.Spec.Config.Raw, &config); err == nil && len(config) > 0 { // the API server lets nothing but objects in
			spec["config"] = config
		}
	}
	out.Object["spec"] = spec
	return out
}

// subscriptionName is that of the PlatformOperator, unless it has adopted another Subscription to the package, or may. A second
// one to the package would get in the way of one that is somebody else's: that one's name is a conflict, which is stated.
func subscriptionName(op *v1alpha1.PlatformOperator, around Surroundings) string {
	if subs := sorted(op, around.Subscriptions); len(subs) > 0 {
		return subs[len(subs)-1].GetName()
	}
	return op.Name
}

// composed reports whether an entry of `status.resources` is of what is composed anyway, rather than of `spec.resources`.
func composed(entry string) bool {
	return entry == entryNamespace || entry == entryOperatorGroup || entry == entrySubscription
}

// sorted are objects by whose they are, the PlatformOperator's own last and those that it may adopt before, and by name.
func sorted[T any, O interface {
	*T
	metav1.Object
}](op *v1alpha1.PlatformOperator, objects []T) []O {
	near := func(o O) int {
		switch {
		case controls(op, o):
			return 2
		case consents(op, o):
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

// resourceOf is an object of `spec.resources`, or nil where the manifest is none, which the API server refuses.
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

// owned marks an object as one that the PlatformOperator controls.
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

// unblock has the owner of an object not wait for the object when it is deleted in the foreground. To have it wait takes the right to
// set its finalizers, where the API server checks that, and our own finalizer does so anyway.
func unblock(o *unstructured.Unstructured) {
	owners := o.GetOwnerReferences()
	for i := range owners {
		owners[i].BlockOwnerDeletion = nil
	}
	o.SetOwnerReferences(owners)
}

// label is a name as a label may hold it. Who owns an object says its reference; the label only selects what is watched.
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

// controls is true where an object is the PlatformOperator's.
func controls(op *v1alpha1.PlatformOperator, o metav1.Object) bool {
	ref := metav1.GetControllerOfNoCopy(o)
	return ref != nil && ref.UID == op.UID
}

// consents is true where nobody controls an object, and whoever made it says that the PlatformOperator may.
func consents(op *v1alpha1.PlatformOperator, o metav1.Object) bool {
	return metav1.GetControllerOfNoCopy(o) == nil && o.GetAnnotations()[v1alpha1.AnnotationAdopt] == op.Name
}

func object(apiVersion, kind, namespace, name string) *unstructured.Unstructured {
	out := &unstructured.Unstructured{Object: map[string]any{}}
	out.SetAPIVersion(apiVersion)
	out.SetKind(kind)
	out.SetNamespace(namespace)
	out.SetName(name)
	return out
}

func titleOf(o *unstructured.Unstructured) string {
	if o.GetNamespace() == "" {
		return fmt.Sprintf("%s %s", o.GetKind(), o.GetName())
	}
	return fmt.Sprintf("%s %s/%s", o.GetKind(), o.GetNamespace(), o.GetName())
}
