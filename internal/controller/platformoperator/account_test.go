package platformoperator

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/api/platform/v1alpha1"
	"github.com/operator-status/operator-status/internal/apply"
	"github.com/operator-status/operator-status/internal/status/condition"
	platformoperatorstatus "github.com/operator-status/operator-status/internal/status/platformoperator"
	"github.com/operator-status/operator-status/internal/test/builder"
)

// as sets the service account that applies `spec.resources`.
func as(account string) builder.Change {
	return func(op *v1alpha1.PlatformOperator) { op.Spec.ServiceAccountName = account }
}

func TestIdentityOf(t *testing.T) {
	fallback := apply.Identity{Namespace: "platform", Name: "composer"}
	for name, tc := range map[string]struct {
		reason    string
		op        []builder.Change
		otherwise apply.Identity
		want      string
	}{
		"Default": {"The default account is used if the spec has none.", nil, fallback, "service account platform/composer"},
		"Named":   {"The account of the spec overrides the flag.", []builder.Change{as("installer")}, fallback, "service account foo/installer"},
		"Namespace": {"The account of the spec is in the namespace of the installation.", []builder.Change{as("installer"), builder.InNamespaceBar}, fallback,
			"service account bar/installer"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := identityOf(builder.PlatformOperator(tc.op...), tc.otherwise).String(); got != tc.want {
				t.Errorf("%s: %s; want %s", tc.reason, got, tc.want)
			}
		})
	}
}

func TestRefuses(t *testing.T) {
	composerAccount := apply.Identity{Namespace: "operators", Name: "composer"}
	composes := actor{Identity: composerAccount, shared: true}
	byDefault := actor{Identity: apply.Identity{Namespace: "platform", Name: "default"}, shared: true}
	account := actor{Identity: apply.Identity{Namespace: "foo", Name: "installer"}}
	missing := account
	missing.missing = true
	for name, tc := range map[string]struct {
		reason  string
		as      actor
		object  string
		want    string
		message []string
	}{
		"Composer": {"The composer applies a ConfigMap.", composes, "v1 ConfigMap foo/x", "", nil},
		"Role": {"The composer refuses a Role, since it may have more rights than the author.", composes, "rbac.authorization.k8s.io/v1 Role foo/x", "ServiceAccountRequired",
			[]string{"Role foo/x", "spec.serviceAccountName", "--default-resources-account"}},
		"Binding": {"The composer refuses RBAC objects of any version.", composes, "rbac.authorization.k8s.io/v1beta1 ClusterRoleBinding x", "ServiceAccountRequired", nil},
		"Reserved": {"The composer refuses an object in a reserved namespace.", composes, "v1 ConfigMap kube-system/x", "NamespaceReserved",
			[]string{"ConfigMap kube-system/x", "--reserved-namespaces"}},
		"ReservedNamespace": {"The composer refuses a reserved namespace.", composes, "v1 Namespace kube-system", "NamespaceReserved", []string{"Namespace kube-system"}},
		"SameName":          {"The composer accepts an object of another kind with the name of a reserved namespace.", composes, "v1 PersistentVolume kube-system", "", nil},
		"Default":           {"The default account applies a Role, since a cluster admin has chosen it.", byDefault, "rbac.authorization.k8s.io/v1 Role foo/x", "", nil},
		"DefaultReserved":   {"The default account refuses an object in a reserved namespace.", byDefault, "v1 ConfigMap kube-system/x", "NamespaceReserved", nil},
		"Account":           {"An account of the spec applies a Role, since the API server limits the rights it can grant.", account, "rbac.authorization.k8s.io/v1 Role foo/x", "", nil},
		"AccountReserved":   {"An account of the spec applies an object in a reserved namespace if its rights allow it.", account, "v1 ConfigMap kube-system/x", "", nil},
		"Missing": {"If the account does not exist, nothing is applied as the manager instead.", missing, "v1 ConfigMap foo/x", "ServiceAccountMissing",
			[]string{"ConfigMap foo/x", "service account foo/installer", "create it"}},
	} {
		t.Run(name, func(t *testing.T) {
			fields := strings.Fields(tc.object)
			namespace, object, namespaced := strings.Cut(fields[2], "/")
			if !namespaced {
				namespace, object = "", namespace
			}
			c := composer{Reconciler: &Reconciler{Composer: composerAccount, Reserved: platformoperatorstatus.Reserved{"kube-*", "operators"}}}
			got := c.refuses(tc.as, platformoperatorstatus.NewObject(fields[0], fields[1], namespace, object))
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
		"Manager": {"The manager may delete an object that the PlatformOperator controls.", actor{}, "", true},
		"Account": {"An existing account is limited only by its rights.", actor{Identity: account}, "", true},
		"Known":   {"Without the account an object may be deleted if its UID is the recorded one.", actor{Identity: account, missing: true}, "uid", true},
		"Another": {"Without the account an object may not be deleted if its UID differs from the recorded one.", actor{Identity: account, missing: true}, "uid-before", false},
		"Unknown": {"Without the account an object may not be deleted if no UID is recorded.", actor{Identity: account, missing: true}, "", false},
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
	role := platformoperatorstatus.NewObject("rbac.authorization.k8s.io/v1", "Role", "foo", "x")
	of := schema.GroupResource{Group: rbacv1.GroupName, Resource: "roles"}
	account := apply.Identity{Namespace: "foo", Name: "installer"}
	for name, tc := range map[string]struct {
		as   actor
		err  error
		want condition.Problem
	}{
		"Account": {actor{Identity: account}, apierrors.NewForbidden(of, "x", errors.New("User y cannot patch it")), condition.Problem{Reason: "Forbidden",
			Message: `Role foo/x: roles.rbac.authorization.k8s.io "x" is forbidden: User y cannot patch it. To allow it, bind a role with the permission to service account foo/installer`}},
		"Grants": {actor{Identity: account}, apierrors.NewForbidden(of, "x", errors.New("it is attempting to grant RBAC permissions not currently held")),
			condition.Problem{Reason: "Forbidden",
				Message: `Role foo/x: roles.rbac.authorization.k8s.io "x" is forbidden: it is attempting to grant RBAC permissions not currently held. To allow it, bind a role with the permission to service account foo/installer`}},
		"Shared": {actor{Identity: account, shared: true}, apierrors.NewForbidden(of, "x", errors.New("User y cannot patch it")), condition.Problem{Reason: "Forbidden",
			Message: `Role foo/x: roles.rbac.authorization.k8s.io "x" is forbidden: User y cannot patch it. To allow it, add label operatorstatus.io/aggregate-to-compose=true to a ClusterRole with the permission, or bind a role with it to service account foo/installer`}},
		"Missing": {actor{Identity: account, missing: true}, apierrors.NewForbidden(of, "x", errors.New("User y cannot delete it")),
			condition.Problem{Reason: "Forbidden",
				Message: `Role foo/x: roles.rbac.authorization.k8s.io "x" is forbidden: User y cannot delete it. The request was sent as the manager, since service account foo/installer does not exist`}},
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
