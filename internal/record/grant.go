package record

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/internal/apply"
	"github.com/operator-status/operator-status/internal/install"
)

// Grant is what an InstallPlan granted to a CSV that it installed. Its existence means that the plan was applied
// completely.
type Grant struct {
	// Plan is the name of the InstallPlan.
	Plan string `json:"plan"`

	// Catalog is the CatalogSource of its bundle.
	Catalog types.NamespacedName `json:"catalog"`

	// Identity is what the plan was applied as.
	Identity apply.Identity `json:"identity"`

	install.Grant `json:"grant"`

	// Beyond lists the objects outside its namespace that were written for the CSV. Only these are deleted with the
	// CSV.
	Beyond []Reference `json:"beyond,omitempty"`
}

// Reference identifies an object that was written.
type Reference struct {
	Group     string    `json:"group,omitempty"`
	Version   string    `json:"version"`
	Kind      string    `json:"kind"`
	Namespace string    `json:"namespace,omitempty"`
	Name      string    `json:"name"`
	UID       types.UID `json:"uid,omitempty"` // empty until it is known
}

// Remember adds a reference, or sets the UID of an existing one.
func (g *Grant) Remember(ref Reference) {
	for i := range g.Beyond {
		known := g.Beyond[i]
		known.UID = ""
		if bare := (Reference{ref.Group, ref.Version, ref.Kind, ref.Namespace, ref.Name, ""}); known == bare {
			if ref.UID != "" {
				g.Beyond[i].UID = ref.UID
			}
			return
		}
	}
	g.Beyond = append(g.Beyond, ref)
}

// KeepGrant stores the grant of a CSV.
func (s *Store) KeepGrant(ctx context.Context, csv types.NamespacedName, grant *Grant) error {
	if err := s.write(ctx, s.secret(kindGrant, csv, nameOf(kindGrant, csv)), grant); err != nil {
		return fmt.Errorf("keeping what ClusterServiceVersion %s is granted: %w", csv, err)
	}
	return nil
}

// Grant returns the grant of a CSV; nil if no InstallPlan that installs it has been applied completely.
func (s *Store) Grant(ctx context.Context, csv types.NamespacedName) (*Grant, error) {
	out := &Grant{}
	found, err := s.read(ctx, s.Client, nameOf(kindGrant, csv), out)
	if err != nil {
		return nil, fmt.Errorf("reading what ClusterServiceVersion %s is granted: %w", csv, err)
	}
	if !found {
		return nil, nil
	}
	return out, nil
}

// DropGrant deletes the grant of a deleted CSV.
func (s *Store) DropGrant(ctx context.Context, csv types.NamespacedName) error {
	return s.drop(ctx, nameOf(kindGrant, csv))
}

// Granted reports whether an InstallPlan that installs a CSV has been applied completely.
func (s *Store) Granted(ctx context.Context, csv types.NamespacedName) (bool, error) {
	grant, err := s.Grant(ctx, csv)
	return grant != nil, err
}

// GrantOf returns the CSV whose grant a Secret holds, and whether it holds one.
func GrantOf(secret metav1.Object) (types.NamespacedName, bool) {
	if secret.GetLabels()[labelKind] != kindGrant {
		return types.NamespacedName{}, false
	}
	namespace, name, ok := strings.Cut(secret.GetAnnotations()[annotationOf], "/")
	return types.NamespacedName{Namespace: namespace, Name: name}, ok
}
