// Package install says what the cluster has to hold for a ClusterServiceVersion to be installed.
//
// Render is the whole of it: what is read goes in, objects in the order of their application come out. It has no
// client, no clock and no randomness, so the same install renders to the same objects. What cannot be the same twice,
// keys and certificates, is made by Certify, which keeps those that are still good. Names, labels, annotations and
// rights are those of OLM wherever another object could depend on them.
package install

import (
	"cmp"
	"fmt"
	"slices"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// Install is everything that the objects of a ClusterServiceVersion depend on, read at one moment.
type Install struct {
	CSV *v1alpha1.ClusterServiceVersion

	// Group is the OperatorGroup of the CSV's namespace.
	Group *operatorsv1.OperatorGroup

	// Targets are the namespaces that the operator looks after. Nil, or the empty one, means all.
	Targets []string

	// Config is that of the Subscription which the CSV was installed for, if it has one.
	Config *olm.SubscriptionConfig

	// Grant is what the CSV may be given; the zero value where no InstallPlan has granted it anything.
	Grant Grant

	// CRDs are the UIDs of the CustomResourceDefinitions that the CSV owns, by name. The roles for an API belong to
	// its definition, so that they go with it.
	CRDs map[string]types.UID

	// Certificates are what Certify returned.
	Certificates Certificates
}

// Grant is what an operator may be given. It is taken from a manifest that can be trusted to be what was approved, never
// from the CSV in the cluster, which others may have changed since.
type Grant struct {
	Permissions        []olm.StrategyDeploymentPermissions
	ClusterPermissions []olm.StrategyDeploymentPermissions

	// Webhooks may be registered, as they are described here. Those of the CSV that have no namesake of the same type and
	// deployment here are not.
	Webhooks []olm.WebhookDescription

	// APIs are those for which people get roles: what the CSV owns.
	APIs []API
}

// API is a kind that an operator offers.
type API struct {
	// CRD is the name of its CustomResourceDefinition.
	CRD     string `json:"crd"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
}

// GrantOf returns all that the manifest of a CSV asks for.
func GrantOf(manifest *olm.ClusterServiceVersionSpec) Grant {
	strategy := manifest.InstallStrategy.StrategySpec
	return Grant{
		Permissions:        strategy.Permissions,
		ClusterPermissions: strategy.ClusterPermissions,
		Webhooks:           manifest.WebhookDefinitions,
		APIs:               apisOf(manifest),
	}
}

// apisOf are the kinds that a CSV owns.
func apisOf(manifest *olm.ClusterServiceVersionSpec) []API {
	var out []API
	for _, d := range manifest.CustomResourceDefinitions.Owned {
		out = append(out, API{d.Name, d.Version, d.Kind})
	}
	return out
}

// Object is one object to apply.
type Object struct {
	client.Object

	// IfAbsent is true where an object of that name which is there already, and which no CSV of ours owns, serves as
	// well and is left as it is. See Owners.
	IfAbsent bool

	// For says what the object is for, such as "permissions of service account foo".
	For string

	// Right is true for what grants the operator rights: its service accounts, and their roles and bindings.
	Right bool
}

// Phase is which objects can be applied at once: those of one phase do not depend on each other, and the objects of a Rendered are
// in the order of their phases.
func (o Object) Phase() int {
	switch o.Object.(type) {
	case *rbacv1.RoleBinding, *rbacv1.ClusterRoleBinding:
		return 1 // nobody may bind a role that is not there, unless he may bind any
	case *appsv1.Deployment:
		return 2 // with all that it needs to run
	case *admissionv1.ValidatingWebhookConfiguration, *admissionv1.MutatingWebhookConfiguration:
		return 3 // after what serves them, or they would refuse what they are asked about
	}
	return 0
}

// Rendered is what an install comes to.
type Rendered struct {
	// Objects in the order of their application.
	Objects []Object

	// Conversions to set on CustomResourceDefinitions once the objects are there, ordered by name.
	Conversions []Conversion

	// LeftOut says what the CSV asks for and the grant does not give. Sorted, each said once.
	LeftOut []string
}

// Error says why a CSV cannot be installed as it is written.
type Error struct {
	// Reason for the status of the CSV.
	Reason olm.ConditionReason

	// Message is a sentence for it.
	Message string
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

func invalid(reason olm.ConditionReason, format string, args ...any) *Error {
	return &Error{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// Render says what the cluster has to hold for in to be installed. The error is an *Error where the CSV is at fault.
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

// rights are what the operator is granted, for its service accounts.
func rights(in Install, out *Rendered) {
	before := len(out.Objects)
	serviceAccounts(in, out)
	permissions(in, out)
	clusterPermissions(in, out)
	for i := range out.Objects[before:] {
		out.Objects[before+i].Right = true
	}
}

// Permissions returns the objects by which the operator is granted its rights: those of Render that are Rights.
func Permissions(in Install) []Object {
	in.Targets = sorted(in.Targets)
	out := &Rendered{}
	rights(in, out)
	return out.Objects
}

// add adds objects that are for something. They share nothing with what they were made of, since applying an object writes the
// answer into it.
func (r *Rendered) add(what string, objects ...client.Object) {
	for _, obj := range objects {
		r.Objects = append(r.Objects, Object{Object: obj.DeepCopyObject().(client.Object), For: what})
	}
}

// allNamespaces is true where the operator looks after every namespace.
func (in Install) allNamespaces() bool {
	return in.Targets == nil || slices.Contains(in.Targets, metav1.NamespaceAll)
}

// account is a service account of the CSV's namespace.
func (in Install) account(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: in.CSV.Namespace, Name: name}
}

// sorted is a sorted copy without duplicates.
func sorted(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}
