package platformoperator

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/platform/v1alpha1"
	"github.com/operator-status/operator-status/internal/status/condition"
	"github.com/operator-status/operator-status/internal/test/builder"
)

// TestUnblock verifies that a service account can apply an object without permission to update finalizers of its owner.
func TestUnblock(t *testing.T) {
	o := owned(builder.PlatformOperator(), NewObject("v1", "ConfigMap", "foo", "x"))
	Unblock(o)
	yes := true
	want := []metav1.OwnerReference{{APIVersion: "platform.openshift.io/v1alpha1", Kind: "PlatformOperator", Name: "foo", UID: "uid-foo", Controller: &yes}}
	if diff := cmp.Diff(want, o.GetOwnerReferences()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestUnreadable verifies that the status keeps the UID of an object that can no longer be read.
func TestUnreadable(t *testing.T) {
	in := runs(withObject("example", withUID(builder.FooWithConditions("Ready=True"), "uid-example")))
	in.Operator.Status, _ = Compute(in)
	last := &in.Objects[len(in.Objects)-1]
	last.Live, last.Problem = nil, &condition.Problem{Reason: "Forbidden", Message: "So it is"}
	got, _ := Compute(in)
	if r := got.Resources[len(got.Resources)-1]; r.Reference.UID != "uid-example" || r.Reason != "Forbidden" {
		t.Errorf("an object that cannot be read is reported as %+v", r)
	}
	last.Problem = nil
	got, _ = Compute(in)
	if r := got.Resources[len(got.Resources)-1]; r.Reference.UID != "" {
		t.Errorf("an object that no longer exists is reported as %+v", r)
	}
}

func TestLookAgain(t *testing.T) {
	forbidden, unwatched := problem("example", "Forbidden", "So it is"), func(in *Inputs) { in.Objects[0].Unwatched = true }
	for name, tc := range map[string]struct {
		reason string
		given  []given
		after  time.Duration
		quiet  time.Duration
		want   time.Duration
	}{
		"Well":      {"A PlatformOperator without problems is reconciled on events only.", nil, 0, 0, 0},
		"Quiet":     {"A PlatformOperator that recovered is reconciled when the failure counts as over.", nil, 0, time.Minute, time.Minute},
		"Unwatched": {"A PlatformOperator with objects that are not watched is reconciled regularly.", []given{unwatched}, 0, time.Minute, retry},
		"First":     {"A new missing permission is retried after a second.", []given{withObject("example", builder.FooWithConditions()), forbidden}, 0, 0, time.Second},
		"Later": {"A missing permission is retried less often the longer it lasts.", []given{withObject("example", builder.FooWithConditions()), forbidden}, 20 * time.Second, 0,
			10 * time.Second},
		"Long": {"A missing permission is retried regularly however long it lasts.", []given{withObject("example", builder.FooWithConditions()), forbidden}, time.Hour, 0, retry},
		"Sooner": {"The earliest of several times is used.",
			[]given{withObject("example", builder.FooWithConditions()), forbidden}, time.Hour, 2 * time.Second, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			in := runs(tc.given...)
			status, _ := Compute(in)
			in.Now = metav1.NewTime(in.Now.Rfc3339Copy().Add(tc.after))
			if got := in.RetryAfter(status, tc.quiet); got != tc.want {
				t.Errorf("%s: %v; want %v", tc.reason, got, tc.want)
			}
		})
	}
}

// TestDeletingForbidden verifies that the status names the objects that may not be deleted or released.
func TestDeletingForbidden(t *testing.T) {
	o := Object{Desired: Desired{Object: NewObject("v1", "ConfigMap", "foo", "x")},
		Problem: &condition.Problem{Reason: "Forbidden", Message: "ConfigMap foo/x: it may not"}}
	for name, tc := range map[string]struct {
		policy     v1alpha1.DeletionPolicy
		management v1alpha1.ManagementPolicy
		want       string
	}{
		"Delete":  {v1alpha1.DeletionDelete, "", "Waiting until these are deleted: ConfigMap foo/x. ConfigMap foo/x: it may not"},
		"Orphan":  {v1alpha1.DeletionOrphan, "", "Waiting until these are released: ConfigMap foo/x. ConfigMap foo/x: it may not"},
		"Observe": {v1alpha1.DeletionDelete, v1alpha1.ManagementObserve, "Waiting until these are released: ConfigMap foo/x. ConfigMap foo/x: it may not"},
	} {
		t.Run(name, func(t *testing.T) {
			op := builder.PlatformOperator(func(op *v1alpha1.PlatformOperator) {
				op.Spec.DeletionPolicy, op.Spec.ManagementPolicy = tc.policy, tc.management
			})
			got := Deleting(op, []Object{o}, metav1.Now())
			for _, c := range got.Conditions {
				if c.Reason != v1alpha1.ReasonDeleting || c.Message != tc.want {
					t.Errorf("%s is %s: %s; want %s", c.Type, c.Reason, c.Message, tc.want)
				}
			}
		})
	}
}
