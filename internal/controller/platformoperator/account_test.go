package platformoperator

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/api/platform/v1alpha1"
	"github.com/operator-status/operator-status/internal/apply"
	"github.com/operator-status/operator-status/internal/status/condition"
	"github.com/operator-status/operator-status/internal/test/builder"
)

// as sets the service account that applies `spec.resources`.
func as(account string) asks {
	return func(op *v1alpha1.PlatformOperator) { op.Spec.ServiceAccountName = account }
}

func TestIdentityOf(t *testing.T) {
	fallback := apply.Identity{Namespace: "platform", Name: "composer"}
	for name, tc := range map[string]struct {
		reason    string
		op        []asks
		otherwise apply.Identity
		want      string
	}{
		"Manager":   {"Nothing else is named.", nil, apply.Identity{}, "the manager"},
		"Default":   {"So the flag has it.", nil, fallback, "service account platform/composer"},
		"Named":     {"The spec overrides the flag.", []asks{as("installer")}, fallback, "service account foo/installer"},
		"Namespace": {"It is in the namespace that the operator is installed in.", []asks{as("installer"), inNamespaceBar}, fallback, "service account bar/installer"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := identityOf(asking(tc.op...), tc.otherwise).String(); got != tc.want {
				t.Errorf("%s: %s; want %s", tc.reason, got, tc.want)
			}
		})
	}
}

func TestRefuses(t *testing.T) {
	account := apply.Identity{Namespace: "foo", Name: "installer"}
	for name, tc := range map[string]struct {
		reason  string
		as      actor
		kind    string
		want    string
		message []string
	}{
		"Manager":     {"It applies what it may.", actor{}, "v1 ConfigMap", "", nil},
		"Role":        {"It may grant everything.", actor{}, "rbac.authorization.k8s.io/v1 Role", "ServiceAccountRequired", []string{"Role foo/x", "spec.serviceAccountName", "--default-resources-account"}},
		"Binding":     {"In whatever version.", actor{}, "rbac.authorization.k8s.io/v1beta1 ClusterRoleBinding", "ServiceAccountRequired", nil},
		"AccountRole": {"The API server lets an account grant what it has.", actor{Identity: account}, "rbac.authorization.k8s.io/v1 Role", "", nil},
		"Missing":     {"The manager does not stand in for it.", actor{Identity: account, missing: true}, "v1 ConfigMap", "ServiceAccountMissing", []string{"ConfigMap foo/x", "service account foo/installer", "create it"}},
	} {
		t.Run(name, func(t *testing.T) {
			version, kind, _ := strings.Cut(tc.kind, " ")
			got := tc.as.refuses(object(version, kind, "foo", "x"))
			if got == nil {
				got = &condition.Problem{}
			}
			if got.Reason != tc.want {
				t.Errorf("%s: %q; want %q", tc.reason, got.Reason, tc.want)
			}
			for _, words := range tc.message {
				if !strings.Contains(got.Message, words) {
					t.Errorf("%q does not contain %q", got.Message, words)
				}
			}
		})
	}
}

func TestMayTouch(t *testing.T) {
	account := apply.Identity{Namespace: "foo", Name: "installer"}
	for name, tc := range map[string]struct {
		reason   string
		as       actor
		recorded types.UID
		want     bool
	}{
		"Manager": {"It is controlled by the PlatformOperator.", actor{}, "", true},
		"Account": {"Its rights decide.", actor{Identity: account}, "", true},
		"Known":   {"It is what was written.", actor{Identity: account, missing: true}, "uid", true},
		"Another": {"The account did not write it.", actor{Identity: account, missing: true}, "uid-before", false},
		"Unknown": {"Nothing tells that it wrote any.", actor{Identity: account, missing: true}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.as.mayTouch(tc.recorded, &metav1.ObjectMeta{UID: "uid"}); got != tc.want {
				t.Errorf("%s: %t; want %t", tc.reason, got, tc.want)
			}
		})
	}
}

// TestLacksRight verifies that the message states how to grant a permission only if one is missing.
func TestLacksRight(t *testing.T) {
	role := object("rbac.authorization.k8s.io/v1", "Role", "foo", "x")
	of := schema.GroupResource{Group: rbacv1.GroupName, Resource: "roles"}
	account := apply.Identity{Namespace: "foo", Name: "installer"}
	for name, tc := range map[string]struct {
		as   actor
		err  error
		want condition.Problem
	}{
		"Account": {actor{Identity: account}, apierrors.NewForbidden(of, "x", errors.New("User y cannot patch it")), condition.Problem{Reason: "Forbidden",
			Message: `Role foo/x: roles.rbac.authorization.k8s.io "x" is forbidden: User y cannot patch it. To allow it, bind a role that does to service account foo/installer`}},
		"Grants": {actor{Identity: account}, apierrors.NewForbidden(of, "x", errors.New("it is attempting to grant RBAC permissions not currently held")), condition.Problem{Reason: "Forbidden",
			Message: `Role foo/x: roles.rbac.authorization.k8s.io "x" is forbidden: it is attempting to grant RBAC permissions not currently held. To allow it, bind a role that does to service account foo/installer`}},
		"Manager": {actor{}, apierrors.NewForbidden(of, "x", errors.New("User y cannot patch it")), condition.Problem{Reason: "Forbidden",
			Message: `Role foo/x: roles.rbac.authorization.k8s.io "x" is forbidden: User y cannot patch it. To allow it, label a ClusterRole that does with operatorstatus.io/aggregate-to-compose=true`}},
		"Missing": {actor{Identity: account, missing: true}, apierrors.NewForbidden(of, "x", errors.New("User y cannot delete it")), condition.Problem{Reason: "Forbidden",
			Message: `Role foo/x: roles.rbac.authorization.k8s.io "x" is forbidden: User y cannot delete it. It is done as the manager, since service account foo/installer does not exist`}},
		"Quota": {actor{Identity: account}, apierrors.NewForbidden(of, "x", errors.New("exceeded quota")), condition.Problem{Reason: "ApplyFailed",
			Message: `Role foo/x: roles.rbac.authorization.k8s.io "x" is forbidden: exceeded quota`}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(&tc.want, problemOf(role, tc.as, tc.err)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestUnblock verifies that a service account can apply an object without permission to update finalizers of its owner.
func TestUnblock(t *testing.T) {
	o := owned(asking(), object("v1", "ConfigMap", "foo", "x"))
	unblock(o)
	yes := true
	want := []metav1.OwnerReference{{APIVersion: "platform.openshift.io/v1alpha1", Kind: "PlatformOperator", Name: "foo", UID: "uid-foo", Controller: &yes}}
	if diff := cmp.Diff(want, o.GetOwnerReferences()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestUnreadable verifies that the status keeps the UID of an object that can no longer be read.
func TestUnreadable(t *testing.T) {
	in := runs(consisting("example", bearing(builder.FooWithConditions("Ready=True"), "uid-example")))
	in.Operator.Status, _ = Status(in)
	last := &in.Objects[len(in.Objects)-1]
	last.Live, last.Problem = nil, &condition.Problem{Reason: "Forbidden", Message: "So it is"}
	got, _ := Status(in)
	if r := got.Resources[len(got.Resources)-1]; r.Reference.UID != "uid-example" || r.Reason != "Forbidden" {
		t.Errorf("it is told of as %+v", r)
	}
	last.Problem = nil
	got, _ = Status(in)
	if r := got.Resources[len(got.Resources)-1]; r.Reference.UID != "" {
		t.Errorf("it is gone, and told of as %+v", r)
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
		"Well":      {"Every change is an event.", nil, 0, 0, 0},
		"Quiet":     {"A trouble will count as over.", nil, 0, time.Minute, time.Minute},
		"Unwatched": {"No event tells that it changes.", []given{unwatched}, 0, time.Minute, retry},
		"First":     {"The right may be granted at once.", []given{consisting("example", builder.FooWithConditions()), forbidden}, 0, 0, time.Second},
		"Later":     {"The longer it is lacking, the more seldom.", []given{consisting("example", builder.FooWithConditions()), forbidden}, 20 * time.Second, 0, 10 * time.Second},
		"Long":      {"But it is looked for.", []given{consisting("example", builder.FooWithConditions()), forbidden}, time.Hour, 0, retry},
		"Sooner":    {"What is next is next.", []given{consisting("example", builder.FooWithConditions()), forbidden}, time.Hour, 2 * time.Second, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			in := runs(tc.given...)
			status, _ := Status(in)
			in.Now = metav1.NewTime(in.Now.Rfc3339Copy().Add(tc.after))
			if got := in.lookAgain(status, tc.quiet); got != tc.want {
				t.Errorf("%s: %v; want %v", tc.reason, got, tc.want)
			}
		})
	}
}

// TestDeletingForbidden verifies that the status names the objects that may not be deleted or released.
func TestDeletingForbidden(t *testing.T) {
	o := Object{Desired: Desired{Object: object("v1", "ConfigMap", "foo", "x")}, Problem: &condition.Problem{Reason: "Forbidden", Message: "ConfigMap foo/x: it may not"}}
	for name, tc := range map[string]struct {
		policy v1alpha1.DeletionPolicy
		want   string
	}{
		"Delete": {v1alpha1.DeletionDelete, "Waiting until these are gone: ConfigMap foo/x. ConfigMap foo/x: it may not"},
		"Orphan": {v1alpha1.DeletionOrphan, "Waiting until these are let go: ConfigMap foo/x. ConfigMap foo/x: it may not"},
	} {
		t.Run(name, func(t *testing.T) {
			got := Deleting(asking(func(op *v1alpha1.PlatformOperator) { op.Spec.DeletionPolicy = tc.policy }), []Object{o}, metav1.Now())
			for _, c := range got.Conditions {
				if c.Reason != v1alpha1.ReasonDeleting || c.Message != tc.want {
					t.Errorf("%s is %s: %s; want %s", c.Type, c.Reason, c.Message, tc.want)
				}
			}
		})
	}
}
