package install

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"math/big"
	"slices"
	"strings"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/drift"
)

// Labels on objects that belong to a CSV or an OperatorGroup, as OLM sets them.
const (
	LabelOwner          = "olm.owner"
	LabelOwnerNamespace = "olm.owner.namespace"
	LabelOwnerKind      = "olm.owner.kind"
	LabelManaged        = "olm.managed"
)

// AnnotationBundled on an object from a bundle names the InstallPlan that applied it.
const AnnotationBundled = "operatorstatus.io/bundled-by"

// IsRendered reports whether an object was rendered for a CSV, as opposed to being part of its bundle.
func IsRendered(o metav1.Object) bool {
	_, applied := o.GetAnnotations()[AnnotationApplied]
	return applied
}

// IsOwned reports whether an object belongs to a CSV. The roles for an API belong to its CustomResourceDefinition.
func IsOwned(o metav1.Object) bool {
	return o.GetLabels()[LabelOwnerKind] == v1alpha1.ClusterServiceVersionKind
}

// FieldOwner is the field manager of the objects that operators consist of.
const FieldOwner = client.FieldOwner("operator-status-csv")

// AnnotationApplied on an object is the hash of its applied content. It shows whether fields that are no longer desired
// have to be removed.
const AnnotationApplied = "operatorstatus.io/applied"

// maxName is the approximate maximum length of role names, as in OLM.
const maxName = 63

// OwnerLabels returns the labels that select all objects that are rendered for a CSV, namespaced or not, except the
// roles for its APIs: those belong to their CustomResourceDefinitions.
func OwnerLabels(csv *v1alpha1.ClusterServiceVersion) map[string]string {
	return ownerLabels(csv, v1alpha1.ClusterServiceVersionKind)
}

func ownerLabels(owner metav1.Object, kind string) map[string]string {
	return map[string]string{
		LabelOwner:          owner.GetName(),
		LabelOwnerNamespace: owner.GetNamespace(),
		LabelOwnerKind:      kind,
	}
}

// OwnerReference returns a reference to a CSV for objects in its namespace, which may belong to several.
func OwnerReference(csv *v1alpha1.ClusterServiceVersion) metav1.OwnerReference {
	no := false
	return metav1.OwnerReference{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.ClusterServiceVersionKind,
		Name: csv.Name, UID: csv.UID,
		Controller: &no, BlockOwnerDeletion: &no,
	}
}

// Owners returns the CSVs that an object belongs to, by reference or by label. An object without owners is not ours.
func Owners(obj metav1.Object) []types.NamespacedName {
	var out []types.NamespacedName
	for _, ref := range obj.GetOwnerReferences() {
		if gv, err := schema.ParseGroupVersion(ref.APIVersion); err == nil &&
			gv.Group == v1alpha1.GroupVersion.Group && ref.Kind == v1alpha1.ClusterServiceVersionKind {
			out = append(out, types.NamespacedName{Namespace: obj.GetNamespace(), Name: ref.Name})
		}
	}
	labels := obj.GetLabels()
	if labels[LabelOwnerKind] != v1alpha1.ClusterServiceVersionKind || labels[LabelOwner] == "" {
		return out
	}
	labelled := types.NamespacedName{Namespace: labels[LabelOwnerNamespace], Name: labels[LabelOwner]}
	if slices.Contains(out, labelled) {
		return out
	}
	return append(out, labelled)
}

// owned returns the metadata of an object that belongs to the CSV: by label, and by owner reference if it is in the
// same namespace. The garbage collector would delete other objects that refer to the CSV.
func (in Install) owned(namespace, name string, labels ...map[string]string) metav1.ObjectMeta {
	out := metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{}}
	for _, more := range labels {
		maps.Copy(out.Labels, more)
	}
	maps.Copy(out.Labels, OwnerLabels(in.CSV))
	out.Labels[LabelManaged] = "true"
	if namespace == in.CSV.Namespace {
		out.OwnerReferences = []metav1.OwnerReference{OwnerReference(in.CSV)}
	}
	return out
}

func (in Install) own(name string, labels ...map[string]string) metav1.ObjectMeta {
	return in.owned(in.CSV.Namespace, name, labels...)
}

// groupAnnotations returns the annotations of a CSV and its pods about their OperatorGroup.
func (in Install) groupAnnotations() map[string]string {
	if in.Group == nil {
		return nil
	}
	return map[string]string{
		operatorsv1.OperatorGroupAnnotationKey:          in.Group.Name,
		operatorsv1.OperatorGroupNamespaceAnnotationKey: in.Group.Namespace,
		operatorsv1.OperatorGroupTargetsAnnotationKey:   TargetsAnnotation(in.Targets),
	}
}

// generateName returns base, truncated if necessary, followed by a hash of distinguishes.
func generateName(base string, distinguishes any) string {
	sum := hash(distinguishes)
	if len(base)+len(sum) > maxName {
		base = base[:maxName-len(sum)-1]
	}
	return base + "-" + sum
}

// clusterName returns base, truncated if necessary, followed by a short hash that distinguishes the object from those of
// other namespaces.
func clusterName(base string, distinguishes ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(distinguishes, "/")))
	suffix := "-" + hex.EncodeToString(sum[:5])
	return base[:min(len(base), validation.DNS1123SubdomainMaxLength-len(suffix))] + suffix
}

// hash returns the SHA-224 of a value's JSON line in base 62. It is OLM's hash, so generated names are the same. value
// must be marshalable: callers pass strings, and structs and lists of them.
func hash(value any) string {
	raw, _ := json.Marshal(value)
	return base62(append(raw, '\n'))
}

func base62(raw []byte) string {
	sum := sha256.Sum224(raw)
	return new(big.Int).SetBytes(sum[:]).Text(62)
}

type objects = []client.Object

// typeMeta returns the type of an object, which server-side apply requires.
func typeMeta(gv schema.GroupVersion, kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: gv.String(), Kind: kind}
}

// WithAppliedHash returns an object as it is applied: without fields that the API server sets, and with the hash of its content
// in AnnotationApplied.
func WithAppliedHash(o client.Object) (*unstructured.Unstructured, error) {
	o = o.DeepCopyObject().(client.Object)
	if err := drift.SetAppliedHash(o, AnnotationApplied); err != nil {
		return nil, err
	}
	raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return nil, err
	}
	unstructured.RemoveNestedField(raw, "status")
	unstructured.RemoveNestedField(raw, "metadata", "creationTimestamp")
	return &unstructured.Unstructured{Object: raw}, nil
}

// Annotate sets an annotation.
func Annotate(o metav1.Object, name, value string) {
	annotations := o.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[name] = value
	o.SetAnnotations(annotations)
}

// Hash returns a short hash of a text, valid at the end of a label or annotation.
func Hash(text string) string { return base62([]byte(text)) }
