package v1alpha1

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestObjectReferenceFor(t *testing.T) {
	metadata := metav1.ObjectMeta{Namespace: "default", Name: "foo", UID: "1234", ResourceVersion: "5"}
	reference := func(apiVersion, kind string) *corev1.ObjectReference {
		return &corev1.ObjectReference{APIVersion: apiVersion, Kind: kind, Namespace: "default", Name: "foo", UID: "1234"}
	}
	twice := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Second"}

	cases := map[string]struct {
		reason string
		obj    runtime.Object
		want   *corev1.ObjectReference // nil for an error
	}{
		"Ours": {
			reason: "The kind is taken from the Go type, since objects that a client has read have none.",
			obj:    &Subscription{ObjectMeta: metadata},
			want:   reference("operators.coreos.com/v1alpha1", "Subscription"),
		},
		"Imported": {
			reason: "The kind of a Go type that another package defines is found in the scheme.",
			obj:    &olm.InstallPlan{ObjectMeta: metadata},
			want:   reference("operators.coreos.com/v1alpha1", "InstallPlan"),
		},
		"Core": {
			reason: "The apiVersion of a type of the core group has no group.",
			obj:    &corev1.ServiceAccount{ObjectMeta: metadata},
			want:   reference("v1", "ServiceAccount"),
		},
		"Unstructured": {
			reason: "The kind of an object without a Go type is taken from the object.",
			obj: &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "example.com/v1", "kind": "Foo",
				"metadata": map[string]any{"namespace": "default", "name": "foo", "uid": "1234"},
			}},
			want: reference("example.com/v1", "Foo"),
		},
		"MetadataAlone": {
			reason: "The kind of an object of which only the metadata was read is taken from the object.",
			obj: &metav1.PartialObjectMetadata{
				TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}, ObjectMeta: metadata,
			},
			want: reference("apps/v1", "Deployment"),
		},
		"SeveralKinds": {
			reason: "If a Go type is registered for several kinds, the kind is taken from the object.",
			obj: &corev1.Secret{
				TypeMeta: metav1.TypeMeta{APIVersion: "example.com/v1", Kind: "Second"}, ObjectMeta: metadata,
			},
			want: reference("example.com/v1", "Second"),
		},
		"SeveralKindsUnsaid":  {reason: "A Go type that is registered for several kinds is refused if the object has no kind.", obj: &corev1.Secret{ObjectMeta: metadata}},
		"NotInScheme":         {reason: "An object without a kind is refused if its Go type is not in the scheme.", obj: &corev1.Pod{ObjectMeta: metadata}},
		"UnstructuredUnsaid":  {reason: "An unstructured object without a kind is refused.", obj: &unstructured.Unstructured{Object: map[string]any{}}},
		"List":                {reason: "A list is refused, since it is not an object.", obj: &SubscriptionList{}},
		"Nothing":             {reason: "A nil object is refused.", obj: nil},
		"NilOfAType":          {reason: "A nil pointer to a type of the scheme is refused.", obj: (*Subscription)(nil)},
		"NilOfNoTypeInScheme": {reason: "A nil pointer to an unstructured object is refused.", obj: (*unstructured.Unstructured)(nil)},
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{AddToScheme, func(s *runtime.Scheme) error {
		s.AddKnownTypes(GroupVersion, &olm.InstallPlan{})
		s.AddKnownTypes(corev1.SchemeGroupVersion, &corev1.ServiceAccount{}, &corev1.Secret{})
		s.AddKnownTypeWithName(twice, &corev1.Secret{})
		return nil
	}} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := ObjectReferenceFor(scheme, tc.obj)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
			var cannot *CannotReferenceError
			if is := errors.As(err, &cannot); is != (tc.want == nil) || is && (cannot.Type == "" || errors.Unwrap(err) == nil) {
				t.Errorf("%s\ngot error %v", tc.reason, err)
			}
		})
	}
}
