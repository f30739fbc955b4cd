package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func TestTolerateTerminating(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "roles"}, "foo", errors.New("no"))
	terminating := apierrors.NewForbidden(schema.GroupResource{Resource: "roles"}, "foo", errors.New("no"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	later := reconcile.Result{RequeueAfter: time.Minute}
	cases := map[string]struct {
		reason string
		result reconcile.Result
		err    error

		want    reconcile.Result
		wantErr bool
	}{
		"Success":   {"A result without an error is returned.", later, nil, later, false},
		"Forbidden": {"Another missing permission is returned as an error.", reconcile.Result{}, forbidden, reconcile.Result{}, true},
		"Terminating": {"A request for a terminating namespace is retried later.",
			reconcile.Result{}, terminating, reconcile.Result{RequeueAfter: retryTerminating}, false},
		"Wrapped": {
			"A wrapped and joined error is recognized.", reconcile.Result{},
			errors.Join(errors.New("foo"), fmt.Errorf("creating: %w", terminating)),
			reconcile.Result{RequeueAfter: retryTerminating}, false,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inner := reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) { return tc.result, tc.err })
			got, err := TolerateTerminating(inner).Reconcile(t.Context(), reconcile.Request{})
			if got != tc.want || (err != nil) != tc.wantErr {
				t.Errorf("%s\ngot %v, %v; want %v, an error: %v", tc.reason, got, err, tc.want, tc.wantErr)
			}
		})
	}
}
