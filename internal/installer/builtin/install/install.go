// Package install renders the objects that a ClusterServiceVersion (CSV) consists of.
//
// Render is a pure function: it has no client, no clock and no randomness, so the same input renders the same objects,
// in the order in which they are applied. Keys and certificates, which cannot be the same twice, are created by
// Certify, which keeps those that are still valid. Names, labels, annotations and permissions are those of OLM wherever
// another object could depend on them.
package install

import (
	"cmp"
	"fmt"
	"slices"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// Install holds everything that the objects of a CSV depend on, read at one moment.
type Install struct {
	CSV *v1alpha1.ClusterServiceVersion

	// Group is the OperatorGroup of the CSV's namespace.
	Group *operatorsv1.OperatorGroup

	// Targets are the target namespaces of the operator. Nil, or the empty string among them, means all.
	Targets []string

	// Absent are those of Targets that do not exist or are being deleted. No permissions are granted there.
	Absent []string

	// Config is spec.config of the CSV's Subscription, or nil.
	Config *olm.SubscriptionConfig

	// Grant is the grant of an InstallPlan to the CSV, or the zero value.
	Grant Grant

	// CRDs holds the UIDs of the CustomResourceDefinitions that the CSV owns, by name. They own the roles for their APIs, so
	// the roles are deleted with them.
	CRDs map[string]types.UID

	// Certificates is the result of Certify.
	Certificates Certificates
}

// Grant limits the permissions and webhooks of an operator. It is taken from a manifest that is known to be the approved
// one, never from the CSV in the cluster, which other users may have changed since.
type Grant struct {
	Permissions        []olm.StrategyDeploymentPermissions
	ClusterPermissions []olm.StrategyDeploymentPermissions

	// Webhooks may be registered as described here. Those of the CSV without a counterpart of the same name, type and
	// Deployment are not registered.
	Webhooks []olm.WebhookDescription

	// APIs are the owned kinds for which user roles are created.
	APIs []API
}

// API is a kind that an operator provides.
type API struct {
	// CRD is the name of its CustomResourceDefinition.
	CRD     string `json:"crd"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
}

// GrantOf returns everything that the manifest of a CSV asks for.
func GrantOf(manifest *olm.ClusterServiceVersionSpec) Grant {
	strategy := manifest.InstallStrategy.StrategySpec
	return Grant{
		Permissions:        strategy.Permissions,
		ClusterPermissions: strategy.ClusterPermissions,
		Webhooks:           manifest.WebhookDefinitions,
		APIs:               apisOf(manifest),
	}
}

func apisOf(manifest *olm.ClusterServiceVersionSpec) []API {
	var out []API
	for _, d := range manifest.CustomResourceDefinitions.Owned {
		out = append(out, API{d.Name, d.Version, d.Kind})
	}
	return out
}

// Object is an object to apply.
type Object struct {
	client.Object

	// IfAbsent is true if an existing object of that name that no CSV owns is used as it is. See Owners.
	IfAbsent bool

	// For is the purpose of the object, such as "permissions of service account foo".
	For string

	// Right is true if the object grants the operator permissions: its service accounts, and their roles and bindings.
	Right bool

	// Alike is true if the object differs from others only in the API that it is for: if one of them can be written, so can all.
	Alike bool
}

// Phase returns the phase in which the object is applied. Objects of the same phase do not depend on each other, and
// the objects of a Rendered are sorted by phase.
func (o Object) Phase() int {
	switch o.Object.(type) {
	case *rbacv1.RoleBinding, *rbacv1.ClusterRoleBinding:
		return 1 // the role has to exist, except for users who may bind any
	case *appsv1.Deployment:
		return 2 // after everything that it needs to run
	case *admissionregistrationv1.ValidatingWebhookConfiguration, *admissionregistrationv1.MutatingWebhookConfiguration:
		return 3 // after their servers, since the API server would reject the requests that they intercept
	}
	return 0
}

// Rendered is the result of Render.
type Rendered struct {
	// Objects are in the order of application.
	Objects []Object

	// Conversions are set on CustomResourceDefinitions after the objects are applied, sorted by name.
	Conversions []Conversion

	// LeftOut describes the CSV's requests that the grant does not contain, sorted and without duplicates.
	LeftOut []string
}

// Error is the reason why a CSV cannot be installed as it is written.
type Error struct {
	// Reason is for the status of the CSV.
	Reason olm.ConditionReason

	// Message is a sentence for the status.
	Message string
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

func invalid(reason olm.ConditionReason, format string, args ...any) *Error {
	return &Error{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// Render returns the objects of an install. The error is an *Error if the CSV is at fault.
func Render(in Install) (Rendered, error) {
	if err := Validate(in.CSV); err != nil {
		return Rendered{}, err
	}
	in.Targets = sorted(in.Targets)
	in.CSV = in.withGrantedWebhooks()
	if err := validateWebhooks(in.CSV); err != nil {
		return Rendered{}, err
	}
	if err := in.Certificates.complete(in.CSV); err != nil {
		return Rendered{}, err
	}
	out := &Rendered{}
	for _, part := range []func(Install, *Rendered){
		rights,
		apiRoles,
		operatorCondition,
		serving,
		deployments,
		webhookConfigurations,
		conversions,
	} {
		part(in, out)
	}
	slices.SortStableFunc(out.Objects, func(a, b Object) int { return cmp.Compare(a.Phase(), b.Phase()) })
	out.LeftOut = sorted(out.LeftOut)
	return *out, nil
}

// rights renders the permissions of the operator's service accounts, as granted.
func rights(in Install, out *Rendered) {
	before := len(out.Objects)
	serviceAccounts(in, out)
	permissions(in, out)
	clusterPermissions(in, out)
	for i := range out.Objects[before:] {
		out.Objects[before+i].Right = true
	}
}

// Permissions returns the objects that grant the operator its permissions: those of Render with Right set.
func Permissions(in Install) []Object {
	in.Targets = sorted(in.Targets)
	out := &Rendered{}
	rights(in, out)
	return out.Objects
}

// add adds deep copies of objects with a purpose. They are copies because applying an object overwrites it with the
// response.
func (r *Rendered) add(purpose string, objects ...client.Object) {
	for _, obj := range objects {
		r.Objects = append(r.Objects, Object{Object: obj.DeepCopyObject().(client.Object), For: purpose})
	}
}

// allNamespaces reports whether the operator targets all namespaces.
func (in Install) allNamespaces() bool {
	return in.Targets == nil || slices.Contains(in.Targets, metav1.NamespaceAll)
}

func (in Install) account(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: in.CSV.Namespace, Name: name}
}

func sorted(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}
