package installplan

import (
	"fmt"
	"slices"
	"strings"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/lifecycle/resolve"
)

// MayReachBeyond is true where what a plan brings from that namespace's catalogs may reach beyond the plan's
// namespace: whoever writes a global catalog is trusted with the cluster, and where the OperatorGroup names a service
// account the API server judges each step by what that account may do.
func MayReachBeyond(group *operatorsv1.OperatorGroup, catalogNamespace, global string) bool {
	return group.Spec.ServiceAccountName != "" || catalogNamespace == global
}

// Allowed says whether a plan may run, and if not, which of its steps reach too far. namespaced tells the scope of a
// kind.
func Allowed(steps []*olm.Step, in Scope, global string, namespaced func(schema.GroupVersionKind) bool) *resolve.Problem {
	var beyond []string
	for _, s := range steps {
		if MayReachBeyond(in.Group, s.Resource.CatalogSourceNamespace, global) {
			continue
		}
		if !namespaced(kindOf(s)) {
			beyond = append(beyond, title(s))
		}
		if s.Resource.Kind == v1alpha1.ClusterServiceVersionKind {
			beyond = append(beyond, permissionsBeyond(s, in)...)
		}
	}
	if len(beyond) == 0 {
		return nil
	}
	slices.Sort(beyond)
	return &resolve.Problem{Reason: v1alpha1.PlanReasonNotAllowed, Message: fmt.Sprintf(
		"%s would reach beyond namespace %s, which a bundle may only from a catalog in namespace %s, or as the service account that OperatorGroup %s names in spec.serviceAccountName",
		listed(beyond), in.Group.Namespace, global, in.Group.Name)}
}

// permissionsBeyond are those that a ClusterServiceVersion asks for outside its namespace.
func permissionsBeyond(s *olm.Step, in Scope) (out []string) {
	spec, err := specOf(s)
	if err != nil {
		return []string{err.Error()}
	}
	if len(spec.WebhookDefinitions) > 0 {
		out = append(out, "webhooks of "+s.Resource.Name)
	}
	strategy := spec.InstallStrategy.StrategySpec
	if len(strategy.ClusterPermissions) > 0 {
		out = append(out, "clusterPermissions of "+s.Resource.Name)
	}
	elsewhere := slices.ContainsFunc(in.Targets, func(n string) bool { return n != in.Group.Namespace })
	if len(strategy.Permissions) > 0 && elsewhere {
		out = append(out, fmt.Sprintf("permissions of %s in the namespaces of OperatorGroup %s", s.Resource.Name, in.Group.Name))
	}
	return out
}

func specOf(s *olm.Step) (olm.ClusterServiceVersionSpec, error) {
	csv := &v1alpha1.ClusterServiceVersion{}
	object, err := Object(s)
	if err == nil {
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, csv)
	}
	if err != nil {
		return csv.Spec, fmt.Errorf("ClusterServiceVersion %s: %w", s.Resource.Name, err)
	}
	return csv.Spec, nil
}

// maxListed bounds how many things a message names.
const maxListed = 5

func listed(names []string) string {
	if cut := len(names) - maxListed; cut > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxListed], ", "), cut)
	}
	return strings.Join(names, ", ")
}
