package installplan

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/operator-status/operator-status/internal/installer/builtin/record"
)

func TestSettled(t *testing.T) {
	for phase, want := range map[olm.InstallPlanPhase]bool{
		"": false, olm.InstallPlanPhasePlanning: false, olm.InstallPlanPhaseRequiresApproval: false, olm.InstallPlanPhaseInstalling: false,
		olm.InstallPlanPhaseComplete: true, olm.InstallPlanPhaseFailed: true,
	} {
		p := plan()
		p.Status.Phase = phase
		if got := settled(p); got != want {
			t.Errorf("%q: %t; want %t", phase, got, want)
		}
	}
	p := plan()
	p.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	if !settled(p) {
		t.Error("one that is being deleted is settled")
	}
}

// TestExplain verifies that transient errors are retried and permanent ones reported, both with the name of the step.
func TestExplain(t *testing.T) {
	foos := schema.GroupResource{Group: "example.com", Resource: "foos"}
	kind := schema.GroupKind{Group: "example.com", Kind: "Foo"}
	dial := &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 40123}, Err: syscall.ECONNREFUSED}
	cases := map[string]struct {
		err    error
		reason string // of a permanent error, or empty for a retry
		quoted string
	}{
		"Invalid": {err: apierrors.NewInvalid(kind, "foo", field.ErrorList{field.Required(field.NewPath("spec"), "")}), reason: "InstallComponentFailed",
			quoted: `Foo.example.com "foo" is invalid: spec: Required value`},
		"Forbidden":  {err: apierrors.NewForbidden(foos, "foo", errors.New("no rights"))},
		"BadRequest": {err: apierrors.NewBadRequest("unknown field"), reason: "InstallComponentFailed", quoted: "unknown field"},
		"TooLarge": {err: apierrors.NewRequestEntityTooLargeError("limit is 3145728"), reason: "InstallComponentFailed",
			quoted: "Request entity too large: limit is 3145728"},
		"Unsafe": {err: &permanentError{"CRDUpdateUnsafe", "it has no version v1"}, reason: "CRDUpdateUnsafe", quoted: "it has no version v1"},
		"UnsafeWrapped": {err: fmt.Errorf("checking: %w", &permanentError{"CRDUpdateUnsafe", "it has no version v1"}), reason: "CRDUpdateUnsafe",
			quoted: "it has no version v1"},
		"Conflict":      {err: apierrors.NewConflict(foos, "foo", errors.New("changed"))},
		"Timeout":       {err: apierrors.NewTimeoutError("slow", 1)},
		"ServerTimeout": {err: apierrors.NewServerTimeout(foos, "patch", 1)},
		"TooMany":       {err: apierrors.NewTooManyRequests("busy", 1)},
		"Internal":      {err: apierrors.NewInternalError(errors.New("failed calling webhook"))},
		"Unavailable":   {err: apierrors.NewServiceUnavailable("starting")},
		"BadGateway":    {err: apierrors.NewGenericServerResponse(http.StatusBadGateway, "patch", foos, "foo", "", 0, true)},
		"Terminating": {err: &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden,
			Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}}}}},
		"NoAPIServer":    {err: &url.Error{Op: "Patch", URL: "https://10.0.0.1:6443/apis", Err: dial}},
		"ConnectionLost": {err: dial},
		"Cancelled":      {err: fmt.Errorf("patching: %w", context.Canceled)},
		"Deadline":       {err: context.DeadlineExceeded},
		"AnythingElse":   {err: errors.New("unexpected EOF")},
	}
	s := task{bundle: &record.Bundle{Name: "foo.v1"}, object: object(`{"apiVersion":"example.com/v1","kind":"Foo","metadata":{"name":"foo"}}`)}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := explain(s, tc.err)
			rejected, final := errors.AsType[*permanentError](got)
			if final != (tc.reason != "") {
				t.Fatalf("%v: final %t; want %t", got, final, tc.reason != "")
			}
			if !strings.HasPrefix(got.Error(), "Foo foo of foo.v1: ") {
				t.Errorf("%v: it does not name the step", got)
			}
			if final {
				if diff := cmp.Diff(permanentError{tc.reason, "Foo foo of foo.v1: " + tc.quoted}, *rejected, cmp.AllowUnexported(permanentError{})); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			} else if !errors.Is(got, tc.err) {
				t.Errorf("%v does not wrap its cause", got)
			}
		})
	}
}

// TestNotServed verifies that a kind that is not served is named and not waited for.
func TestNotServed(t *testing.T) {
	s := task{bundle: &record.Bundle{Name: "foo.v1"},
		object: object(`{"apiVersion":"apiextensions.k8s.io/v1beta1","kind":"CustomResourceDefinition","metadata":{"name":"foos"}}`)}
	got := explain(s, fmt.Errorf("mapping: %w", &meta.NoKindMatchError{}))
	refused, final := errors.AsType[*permanentError](got)
	if !final || refused.reason != "KindNotServed" || !strings.Contains(refused.message,
		"installing CustomResourceDefinition foos of foo.v1: GroupVersionKind apiextensions.k8s.io/v1beta1, Kind=CustomResourceDefinition not found on the cluster") {
		t.Errorf("%v", got)
	}
}
