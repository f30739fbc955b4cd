// Package apply writes the objects of operators under an identity, with dry runs, in phases, and resumably. It knows
// none of this project's own kinds.
package apply

import (
	"fmt"
	"slices"
	"strings"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/status/condition"
)

// Identity is the identity that objects are written as: a service account, or the manager itself if it is the zero value.
// A bundle has exactly the permissions of that identity.
type Identity struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
}

// IsManager reports whether objects are written as the manager itself.
func (i Identity) IsManager() bool { return i == Identity{} }

// Account returns the service account to impersonate.
func (i Identity) Account() types.NamespacedName { return types.NamespacedName(i) }

func (i Identity) String() string {
	if i.IsManager() {
		return "the manager"
	}
	return fmt.Sprintf("service account %s/%s", i.Namespace, i.Name)
}

// Trust configures which catalogs are trusted with the cluster. Their bundles are installed as the manager, unless the
// OperatorGroup names a service account.
type Trust struct {
	// GlobalNamespace is the namespace of the catalogs that every namespace can see. They are trusted.
	GlobalNamespace string

	// Catalogs lists further trusted catalogs.
	Catalogs []types.NamespacedName

	// All trusts every catalog, as OLM does.
	All bool
}

// ParseTrust parses the value of a flag: a comma-separated list of <namespace>/<name>, or * for all.
func ParseTrust(text, globalNamespace string) (Trust, error) {
	out := Trust{GlobalNamespace: globalNamespace}
	for item := range strings.SplitSeq(text, ",") {
		switch namespace, name, ok := strings.Cut(strings.TrimSpace(item), "/"); {
		case item == "":
		case item == "*":
			out.All = true
		case !ok || namespace == "" || name == "":
			return out, fmt.Errorf("%q is not a valid catalog: use <namespace>/<name>, or * for all", item)
		default:
			out.Catalogs = append(out.Catalogs, types.NamespacedName{Namespace: namespace, Name: name})
		}
	}
	return out, nil
}

// Trusts reports whether a catalog is trusted with the cluster.
func (t Trust) Trusts(catalog types.NamespacedName) bool {
	return t.All || catalog.Namespace == t.GlobalNamespace || slices.Contains(t.Catalogs, catalog)
}

// Identity returns the identity that installs bundles of these catalogs in an OperatorGroup's namespace. A service
// account that the group names is always used. The problem is set if it names none and a catalog is not trusted.
func (t Trust) Identity(group *operatorsv1.OperatorGroup, catalogs ...types.NamespacedName) (Identity, *condition.Problem) {
	if name := group.Spec.ServiceAccountName; name != "" {
		return Identity{Namespace: group.Namespace, Name: name}, nil
	}
	for _, c := range catalogs {
		if !t.Trusts(c) {
			return Identity{}, &condition.Problem{Reason: v1alpha1.PlanReasonServiceAccountRequired, Message: fmt.Sprintf(
				"CatalogSource %s is not trusted with the cluster; its bundles must be installed as a service account: "+
					"set spec.serviceAccountName of OperatorGroup %s/%s to one that may install them, "+
					"or have a cluster admin start the manager with --trusted-catalogs=%s",
				c, group.Namespace, group.Name, c)}
		}
	}
	return Identity{}, nil
}
