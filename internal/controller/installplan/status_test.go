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

	corev1 "k8s.io/api/core/v1"

	"github.com/google/go-cmp/cmp"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/operator-status/operator-status/internal/gate"
	"github.com/operator-status/operator-status/internal/record"
	"github.com/operator-status/operator-status/internal/status/condition"
)

// said formats a status: phase, message, steps, start, and each condition with its two times.
func said(s olm.InstallPlanStatus) []string {
	seconds := func(t *metav1.Time) int64 {
		if t == nil {
			return 0
		}
		return t.Unix()
	}
	out := []string{fmt.Sprintf("%s: %s", s.Phase, s.Message), fmt.Sprintf("%d steps, started %d", len(s.Plan), seconds(s.StartTime))}
	for _, c := range s.Conditions {
		out = append(out, fmt.Sprintf("%s=%s/%s: %s (%d, %d)", c.Type, c.Status, c.Reason, c.Message, seconds(c.LastTransitionTime), seconds(c.LastUpdateTime)))
	}
	return out
}

type state func(*olm.InstallPlanStatus, metav1.Time)

func noSuch(what string) state {
	return func(s *olm.InstallPlanStatus, now metav1.Time) {
		unresolved(s, &condition.Problem{Reason: "ConstraintsNotSatisfiable", Message: "There is no " + what}, now)
	}
}

func found(s *olm.InstallPlanStatus, now metav1.Time) { resolved(s, []*olm.Step{{}, {}}, now) }

func holding(message string) state {
	return func(s *olm.InstallPlanStatus, now metav1.Time) {
		held(s, gate.Decision{Held: true, Reason: "ProbeNotUpgradeable", Message: message}, now)
	}
}

func overridden(s *olm.InstallPlanStatus, now metav1.Time) {
	held(s, gate.Decision{Reason: "Overridden", Message: "It goes on", Overridden: true}, now)
}

func notHeld(s *olm.InstallPlanStatus, now metav1.Time) { held(s, gate.Decision{}, now) }

func waiting(s *olm.InstallPlanStatus, _ metav1.Time) { awaiting(s, "Waiting for a person") }

func fails(message string) state {
	return func(s *olm.InstallPlanStatus, now metav1.Time) { retrying(s, "Retrying", message, now) }
}

func refuses(s *olm.InstallPlanStatus, now metav1.Time) {
	failed(s, "InstallComponentFailed", "ConfigMap foo of foo.v1: no", now)
}

func TestStates(t *testing.T) {
	const (
		resolvedAt2 = "Resolved=True/Resolved:  (2, 2)"
		mend        = "ConfigMap foo of foo.v1: no. Mend the cause, then delete this InstallPlan to have it made again"
	)
	cases := map[string]struct {
		reason string
		states []state // set at 1, 2, 3 …
		want   []string
	}{
		"Unresolved": {"What cannot be had is said, and the plan stays in Planning.", []state{noSuch("foo")},
			[]string{"Planning: There is no foo", "0 steps, started 0", "Resolved=False/ConstraintsNotSatisfiable: There is no foo (1, 1)"}},
		"UnresolvedOtherwise": {"Another cause is news, but no transition.", []state{noSuch("foo"), noSuch("bar")},
			[]string{"Planning: There is no bar", "0 steps, started 0", "Resolved=False/ConstraintsNotSatisfiable: There is no bar (1, 2)"}},
		"Resolved": {"The steps are known, and what was wrong is forgotten.", []state{noSuch("foo"), found},
			[]string{"RequiresApproval: ", "2 steps, started 0", resolvedAt2}},
		"Awaiting": {"Whom it waits for is said.", []state{noSuch("foo"), found, waiting},
			[]string{"RequiresApproval: Waiting for a person", "2 steps, started 0", resolvedAt2}},
		"Held": {"What holds is said.", []state{noSuch("foo"), found, holding("Foo is busy")},
			[]string{"RequiresApproval: Foo is busy", "2 steps, started 0", resolvedAt2, "UpgradeHeld=True/ProbeNotUpgradeable: Foo is busy (3, 3)"}},
		"HeldByMore": {"Who holds changes, that it is held does not.", []state{noSuch("foo"), found, holding("Foo is busy"), holding("Bar is busy")},
			[]string{"RequiresApproval: Bar is busy", "2 steps, started 0", resolvedAt2, "UpgradeHeld=True/ProbeNotUpgradeable: Bar is busy (3, 4)"}},
		"NotHeldAnyMore": {"It goes on; the message of the hold goes with it.", []state{noSuch("foo"), found, holding("Foo is busy"), notHeld,
			func(s *olm.InstallPlanStatus, now metav1.Time) { installing(s, now) }},
			[]string{"Installing: ", "2 steps, started 5", resolvedAt2, "UpgradeHeld=False/NotHeld:  (4, 4)"}},
		"NeverHeld": {"Of what never held nothing is said.", []state{noSuch("foo"), found, notHeld},
			[]string{"RequiresApproval: ", "2 steps, started 0", resolvedAt2}},
		"Overridden": {"An override is kept on record, and does not hold.", []state{noSuch("foo"), found, overridden, installing},
			[]string{"Installing: ", "2 steps, started 4", resolvedAt2, "UpgradeHeld=False/Overridden: It goes on (3, 3)"}},
		"Retrying": {"What fails for now is said, and the plan goes on.", []state{noSuch("foo"), found, installing, fails("busy"), installing, fails("away")},
			[]string{"Installing: away", "2 steps, started 3", resolvedAt2, "Installed=False/Retrying: away (4, 6)"}},
		"TriedAgain": {"What it waits for stays while it is tried again, or each try would write twice and be the cause of the next.",
			[]state{noSuch("foo"), found, installing, fails("no rights"), installing},
			[]string{"Installing: no rights", "2 steps, started 3", resolvedAt2, "Installed=False/Retrying: no rights (4, 4)"}},
		"Failed": {"What is refused is said, with what to do.", []state{noSuch("foo"), found, installing, fails("busy"), refuses},
			[]string{"Failed: " + mend, "2 steps, started 3", resolvedAt2, "Installed=False/InstallComponentFailed: " + mend + " (4, 5)"}},
		"Complete": {"All is there, and what went wrong on the way is forgotten.", []state{noSuch("foo"), found, installing, fails("busy"), complete},
			[]string{"Complete: ", "2 steps, started 3", resolvedAt2, "Installed=True/:  (5, 5)"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var status olm.InstallPlanStatus
			for i, s := range tc.states {
				s(&status, metav1.Unix(int64(i+1), 0))
			}
			if diff := cmp.Diff(tc.want, said(status)); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
			before := status.DeepCopy()
			tc.states[len(tc.states)-1](&status, metav1.Unix(1000, 0))
			if diff := cmp.Diff(*before, status); diff != "" {
				t.Errorf("The same again is written again:\n%s", diff)
			}
		})
	}
}

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

func TestSources(t *testing.T) {
	of := func(names ...string) (out []*olm.Step) {
		for _, name := range names {
			out = append(out, &olm.Step{Resource: olm.StepResource{CatalogSource: name}})
		}
		return out
	}
	if diff := cmp.Diff([]string{"a", "b"}, sources(of("b", "a", "b"))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := sources(nil); got == nil || len(got) > 0 {
		t.Errorf("got %v; want an empty list, for the field is required", got)
	}
}

// TestExplain verifies that transient errors are retried and permanent ones reported, both with the name of the step.
func TestExplain(t *testing.T) {
	foos := schema.GroupResource{Group: "example.com", Resource: "foos"}
	kind := schema.GroupKind{Group: "example.com", Kind: "Foo"}
	dial := &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 40123}, Err: syscall.ECONNREFUSED}
	cases := map[string]struct {
		err    error
		reason string // of a refusal; empty if it is retried
		quoted string
	}{
		"Invalid":       {err: apierrors.NewInvalid(kind, "foo", field.ErrorList{field.Required(field.NewPath("spec"), "")}), reason: "InstallComponentFailed", quoted: `Foo.example.com "foo" is invalid: spec: Required value`},
		"Forbidden":     {err: apierrors.NewForbidden(foos, "foo", errors.New("no rights"))},
		"BadRequest":    {err: apierrors.NewBadRequest("unknown field"), reason: "InstallComponentFailed", quoted: "unknown field"},
		"TooLarge":      {err: apierrors.NewRequestEntityTooLargeError("limit is 3145728"), reason: "InstallComponentFailed", quoted: "Request entity too large: limit is 3145728"},
		"Unsafe":        {err: &refusal{"CRDUpdateUnsafe", "it has no version v1"}, reason: "CRDUpdateUnsafe", quoted: "it has no version v1"},
		"UnsafeWrapped": {err: fmt.Errorf("checking: %w", &refusal{"CRDUpdateUnsafe", "it has no version v1"}), reason: "CRDUpdateUnsafe", quoted: "it has no version v1"},
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
			rejected, final := errors.AsType[*refusal](got)
			if final != (tc.reason != "") {
				t.Fatalf("%v: final %t; want %t", got, final, tc.reason != "")
			}
			if !strings.HasPrefix(got.Error(), "Foo foo of foo.v1: ") {
				t.Errorf("%v: it does not name the step", got)
			}
			if final {
				if diff := cmp.Diff(refusal{tc.reason, "Foo foo of foo.v1: " + tc.quoted}, *rejected, cmp.AllowUnexported(refusal{})); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			} else if !errors.Is(got, tc.err) {
				t.Errorf("%v does not tell its cause", got)
			}
		})
	}
}

// TestNotServed verifies that a kind that is not served is named and not waited for.
func TestNotServed(t *testing.T) {
	s := task{bundle: &record.Bundle{Name: "foo.v1"}, object: object(`{"apiVersion":"apiextensions.k8s.io/v1beta1","kind":"CustomResourceDefinition","metadata":{"name":"foos"}}`)}
	got := explain(s, fmt.Errorf("mapping: %w", &meta.NoKindMatchError{}))
	refused, final := errors.AsType[*refusal](got)
	if !final || refused.reason != "KindNotServed" || !strings.Contains(refused.message,
		"installing CustomResourceDefinition foos of foo.v1: GroupVersionKind apiextensions.k8s.io/v1beta1, Kind=CustomResourceDefinition not found on the cluster") {
		t.Errorf("%v", got)
	}
}
