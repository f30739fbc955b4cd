package record

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/internal/apply"
	"github.com/operator-status/operator-status/internal/lifecycle/csv/install"
)

// Grant is what a ClusterServiceVersion was granted by the InstallPlan that installed it. That there is one means that the plan
// was applied whole.
type Grant struct {
	// Plan is the name of the InstallPlan.
	Plan string `json:"plan"`

	// Catalog that its bundle came from.
	Catalog types.NamespacedName `json:"catalog"`

	// Identity that the plan was applied as.
	Identity apply.Identity `json:"identity"`

	install.Grant `json:"grant"`

	// Beyond are the objects outside its namespace that were written for the ClusterServiceVersion. Nothing but these is deleted
	// when it is gone.
	Beyond []Reference `json:"beyond,omitempty"`
}

// Reference is to an object that was written.
type Reference struct {
	Group     string    `json:"group,omitempty"`
	Version   string    `json:"version"`
	Kind      string    `json:"kind"`
	Namespace string    `json:"namespace,omitempty"`
	Name      string    `json:"name"`
	UID       types.UID `json:"uid,omitempty"` // empty until it is known
}

// Remember adds a reference, or the UID to one that is there.
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

// KeepGrant keeps the grant of a ClusterServiceVersion.
func (s *Store) KeepGrant(ctx context.Context, csv types.NamespacedName, grant *Grant) error {
	if err := s.write(ctx, s.secret(kindGrant, csv, nameOf(kindGrant, csv)), grant); err != nil {
		return fmt.Errorf("keeping what ClusterServiceVersion %s is granted: %w", csv, err)
	}
	return nil
}

// Grant returns that of a ClusterServiceVersion; nil if no InstallPlan has been applied whole that installs it.
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

// DropGrant deletes the grant of a ClusterServiceVersion that is gone.
func (s *Store) DropGrant(ctx context.Context, csv types.NamespacedName) error {
	return s.drop(ctx, nameOf(kindGrant, csv))
}

// Granted reports whether an InstallPlan has been applied whole that installs a ClusterServiceVersion.
func (s *Store) Granted(ctx context.Context, csv types.NamespacedName) (bool, error) {
	grant, err := s.Grant(ctx, csv)
	return grant != nil, err
}

// GrantOf returns the ClusterServiceVersion that a Secret records the grant of. It reports whether the Secret does.
func GrantOf(secret metav1.Object) (types.NamespacedName, bool) {
	if secret.GetLabels()[labelKind] != kindGrant {
		return types.NamespacedName{}, false
	}
	namespace, name, ok := strings.Cut(secret.GetAnnotations()[annotationOf], "/")
	return types.NamespacedName{Namespace: namespace, Name: name}, ok
}
