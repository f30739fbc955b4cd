// Package optin records the declarations of operators about their custom resources at installation. A
// CustomResourceDefinition is shared: another version of the operator, or a user, may write other annotations to it
// later, which do not concern the operator that is running.
package optin

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// FieldOwner is the field manager of records.
const FieldOwner = client.FieldOwner("operator-status-records")

// Label marks the ConfigMaps that operator-status keeps in its namespace. Its value is LabelValue for records of this package.
const (
	Label      = "operatorstatus.io/record"
	LabelValue = "opt-in"
)

const (
	// labelNamespace on a ConfigMap is the namespace of the operator.
	labelNamespace = "operatorstatus.io/of-namespace"

	// annotationOf names the operator.
	annotationOf = "operatorstatus.io/of"

	// key of a record in its ConfigMap.
	key = "opt-in.json"
)

// OptIn is the declaration of an operator.
type OptIn struct {
	// Of is its ClusterServiceVersion.
	Of types.NamespacedName `json:"-"`

	// Resources are the CustomResourceDefinitions that it annotated, with their expressions. Without any, it did not opt in.
	Resources []v1alpha1.ProbeResource `json:"probeResources,omitempty"`

	// Owned are all kinds that it owns.
	Owned []schema.GroupKind `json:"owned,omitempty"`
}

// New returns the record of an operator that annotated these resources.
func New(csv *v1alpha1.ClusterServiceVersion, resources []v1alpha1.ProbeResource) OptIn {
	return OptIn{Of: client.ObjectKeyFromObject(csv), Resources: resources, Owned: Owned(csv)}
}

// Owned returns the kinds that a ClusterServiceVersion owns, each once.
func Owned(csv *v1alpha1.ClusterServiceVersion) []schema.GroupKind {
	var out []schema.GroupKind
	for _, d := range csv.Spec.CustomResourceDefinitions.Owned {
		_, group, _ := strings.Cut(d.Name, ".")
		out = append(out, schema.GroupKind{Group: group, Kind: d.Kind})
	}
	slices.SortFunc(out, func(a, b schema.GroupKind) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind))
	})
	return slices.Compact(out)
}

// Shares reports whether the operator owns one of these kinds.
func (o OptIn) Shares(kinds []schema.GroupKind) bool {
	return slices.ContainsFunc(o.Owned, func(k schema.GroupKind) bool { return slices.Contains(kinds, k) })
}

// Store keeps records as ConfigMaps in the manager's namespace, where the users of operators cannot change them.
type Store struct {
	// Reader reads from a cache, or from the API server where an update depends on it.
	Reader client.Reader

	Writer client.Client

	// Namespace is the manager's namespace.
	Namespace string
}

// From returns a Store that reads from another source.
func (s *Store) From(reader client.Reader) *Store {
	return &Store{Reader: reader, Writer: s.Writer, Namespace: s.Namespace}
}

// Get returns the record of a ClusterServiceVersion, or nil.
func (s *Store) Get(ctx context.Context, of types.NamespacedName) (*OptIn, error) {
	o := &corev1.ConfigMap{}
	if err := s.Reader.Get(ctx, types.NamespacedName{Namespace: s.Namespace, Name: Name(of)}, o); apierrors.IsNotFound(err) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("reading the opt-in of ClusterServiceVersion %s: %w", of, err)
	}
	out, err := decode(o)
	return &out, err
}

// In returns the records of all ClusterServiceVersions of a namespace, including those that no longer exist, sorted by
// name.
func (s *Store) In(ctx context.Context, namespace string) ([]OptIn, error) {
	list := &corev1.ConfigMapList{}
	if err := s.Reader.List(ctx, list, client.InNamespace(s.Namespace), client.MatchingLabels{Label: LabelValue, labelNamespace: namespace}); err != nil {
		return nil, fmt.Errorf("listing the opt-ins of namespace %s: %w", namespace, err)
	}
	var out []OptIn
	for i := range list.Items {
		o, err := decode(&list.Items[i])
		if err != nil {
			return nil, err
		}
		out = append(out, o)
	}
	slices.SortFunc(out, func(a, b OptIn) int { return cmp.Compare(a.Of.Name, b.Of.Name) })
	return out, nil
}

// Put stores a record unless it is stored already.
func (s *Store) Put(ctx context.Context, record OptIn) error {
	text, err := json.Marshal(record)
	if err != nil {
		return err
	}
	desired := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.Namespace, Name: Name(record.Of),
			Labels:      map[string]string{Label: LabelValue, labelNamespace: record.Of.Namespace},
			Annotations: map[string]string{annotationOf: record.Of.String()},
		},
		Data: map[string]string{key: string(text)},
	}
	actual := &corev1.ConfigMap{}
	err = s.Reader.Get(ctx, client.ObjectKeyFromObject(desired), actual)
	if apierrors.IsNotFound(err) {
		err = client.IgnoreAlreadyExists(s.Writer.Create(ctx, desired, FieldOwner))
	} else if err == nil && !equality.Semantic.DeepEqual(actual.Data, desired.Data) {
		err = s.Writer.Update(ctx, desired, FieldOwner)
	}
	if err != nil {
		return fmt.Errorf("recording the opt-in of ClusterServiceVersion %s: %w", record.Of, err)
	}
	return nil
}

// Delete deletes the record of a ClusterServiceVersion, if it exists.
func (s *Store) Delete(ctx context.Context, of types.NamespacedName) error {
	o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: Name(of)}}
	if err := s.Writer.Delete(ctx, o); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting the opt-in of ClusterServiceVersion %s: %w", of, err)
	}
	return nil
}

// Name returns the name of the ConfigMap with the record of a ClusterServiceVersion. It is valid whatever the name of that.
func Name(of types.NamespacedName) string {
	sum := sha256.Sum256([]byte(of.String()))
	return LabelValue + "-" + hex.EncodeToString(sum[:12])
}

func decode(o *corev1.ConfigMap) (OptIn, error) {
	var out OptIn
	if err := json.Unmarshal([]byte(o.Data[key]), &out); err != nil {
		return out, fmt.Errorf("reading ConfigMap %s: %w", client.ObjectKeyFromObject(o), err)
	}
	out.Of.Namespace, out.Of.Name, _ = strings.Cut(o.Annotations[annotationOf], "/")
	return out, nil
}

// OfConfigMap returns the ClusterServiceVersion that a ConfigMap has the record of, and whether it has one.
func OfConfigMap(o metav1.Object) (types.NamespacedName, bool) {
	if o.GetLabels()[Label] != LabelValue {
		return types.NamespacedName{}, false
	}
	namespace, name, ok := strings.Cut(o.GetAnnotations()[annotationOf], "/")
	return types.NamespacedName{Namespace: namespace, Name: name}, ok
}
