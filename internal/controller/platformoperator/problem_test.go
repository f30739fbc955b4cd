package platformoperator

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"

	"github.com/operator-status/operator-status/api/platform/v1alpha1"
)

// TestProblemOf verifies which errors of an object are reported, and which are only tried again.
func TestProblemOf(t *testing.T) {
	o := &unstructured.Unstructured{}
	o.SetAPIVersion("example.com/v1")
	o.SetKind("Foo")
	o.SetName("foo")
	resource := schema.GroupResource{Group: "example.com", Resource: "foos"}
	for name, tc := range map[string]struct {
		reason string
		err    error
		want   string
	}{
		"None":      {"It was applied.", nil, ""},
		"Invalid":   {"It has to be corrected.", apierrors.NewInvalid(schema.GroupKind{Group: "example.com", Kind: "Foo"}, "foo", nil), v1alpha1.ReasonApplyFailed},
		"Forbidden": {"A right is missing.", apierrors.NewForbidden(resource, "foo", errors.New(`User "x" cannot patch resource`)), v1alpha1.ReasonForbidden},
		"NotInSchema": {"The API server answers 500 if server-side apply has a field that the schema lacks.",
			&apierrors.StatusError{ErrStatus: *responsewriters.ErrorToAPIStatus(errors.New("failed to create typed patch object"))},
			v1alpha1.ReasonApplyFailed},
		"Webhook":     {"A webhook cannot be called.", apierrors.NewInternalError(errors.New(`failed calling webhook "foo.example.com"`)), v1alpha1.ReasonApplyFailed},
		"Conflict":    {"It was changed meanwhile.", apierrors.NewConflict(resource, "foo", errors.New("changed")), ""},
		"Busy":        {"The API server has too much to do.", apierrors.NewTooManyRequests("later", 1), ""},
		"Unavailable": {"So it does while it starts.", apierrors.NewServiceUnavailable("starting"), ""},
		"Timeout":     {"An answer is missing.", context.DeadlineExceeded, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if problem := problemOf(o, actor{}, tc.err); problem != nil {
				got = problem.Reason
			}
			if got != tc.want {
				t.Errorf("%s The problem is %q, want %q.", tc.reason, got, tc.want)
			}
		})
	}
}

// TestIsOfPlatformOperator verifies which Subscriptions keep the namespace that they are in from being deleted with another PlatformOperator.
func TestIsOfPlatformOperator(t *testing.T) {
	of := func(apiVersion, kind string, controller bool) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			OwnerReferences: []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Controller: &controller}},
		}}
	}
	ours := v1alpha1.GroupVersion.String()
	for name, tc := range map[string]struct {
		reason string
		o      *metav1.PartialObjectMetadata
		want   bool
	}{
		"Ours":       {"Another PlatformOperator installs its operator here.", of(ours, v1alpha1.PlatformOperatorKind, true), true},
		"Dependency": {"Nobody controls those of dependencies.", &metav1.PartialObjectMetadata{}, false},
		"Owner":      {"An owner that does not control it did not create it.", of(ours, v1alpha1.PlatformOperatorKind, false), false},
		"Other":      {"It is of another API group.", of("example.com/v1", v1alpha1.PlatformOperatorKind, true), false},
		"Kind":       {"It is of another kind.", of(corev1.SchemeGroupVersion.String(), "Pod", true), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := isOfPlatformOperator(tc.o); got != tc.want {
				t.Errorf("%s It keeps the namespace: %t.", tc.reason, got)
			}
		})
	}
}
