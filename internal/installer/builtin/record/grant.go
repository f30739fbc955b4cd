package record

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/internal/apply"
	"github.com/operator-status/operator-status/internal/installer/builtin/install"
)

// Grant is the grant of an InstallPlan to a CSV that it installed, whose existence means that the plan was applied
// completely. The one of a CSV that was applied by hand grants nothing, and records the objects outside its namespace only.
type Grant struct {
	// Plan is the name of the InstallPlan. It is empty for a CSV that was applied by hand.
	Plan string `json:"plan"`

	// Catalog is the CatalogSource of its bundle.
	Catalog types.NamespacedName `json:"catalog"`

	// Identity is the identity that applied the plan, or the objects of a CSV that was applied by hand.
	Identity apply.Identity `json:"identity"`

	install.Grant `json:"grant"`

	// OutsideNamespace lists the objects outside its namespace that were written for the CSV. Only these are deleted with the
	// CSV.
	OutsideNamespace []Reference `json:"beyond,omitempty"`
}

// Reference identifies an object that was written.
type Reference struct {
	Group     string    `json:"group,omitempty"`
	Version   string    `json:"version"`
	Kind      string    `json:"kind"`
	Namespace string    `json:"namespace,omitempty"`
	Name      string    `json:"name"`
	UID       types.UID `json:"uid,omitempty"` // empty until it is known

	// Created is true if the object did not exist before it was written for the CSV, or one that it replaces. Another
	// user's object may have been taken over otherwise, which only an identity that may delete it deletes.
	Created bool `json:"created,omitempty"`
}

// is reports whether two references name the same object.
func (r Reference) is(other Reference) bool {
	return r.Group == other.Group && r.Version == other.Version && r.Kind == other.Kind && r.Namespace == other.Namespace && r.Name == other.Name
}

// Remember adds a reference, or sets the UID of an existing one.
func (g *Grant) Remember(ref Reference) {
	i := slices.IndexFunc(g.OutsideNamespace, ref.is)
	if i < 0 {
		g.OutsideNamespace = append(g.OutsideNamespace, ref)
		return
	}
	known := &g.OutsideNamespace[i]
	if known.UID != "" && ref.UID != "" && known.UID != ref.UID { // it is another object since
		known.Created = ref.Created
	}
	known.UID = cmp.Or(ref.UID, known.UID)
}

// OfPlan reports whether an InstallPlan has granted it.
func (g *Grant) OfPlan() bool { return g != nil && g.Plan != "" }

// Wrote reports whether an object with that UID is recorded as written for the CSV, or was about to be created for it.
func (g *Grant) Wrote(ref Reference, uid types.UID) bool {
	i := slices.IndexFunc(g.OutsideNamespace, ref.is)
	return i >= 0 && (g.OutsideNamespace[i].UID == uid || g.OutsideNamespace[i].UID == "" && g.OutsideNamespace[i].Created)
}

// Inherit takes over from the grant of the CSV that is replaced which of the objects were created.
func (g *Grant) Inherit(replaced *Grant) {
	for i := range g.OutsideNamespace {
		at := slices.IndexFunc(replaced.OutsideNamespace, g.OutsideNamespace[i].is)
		if at >= 0 && g.OutsideNamespace[i].UID == replaced.OutsideNamespace[at].UID && replaced.OutsideNamespace[at].Created {
			g.OutsideNamespace[i].Created = true
		}
	}
}

// KeepGrant stores the grant of a CSV.
func (s *Store) KeepGrant(ctx context.Context, csv types.NamespacedName, grant *Grant) error {
	if err := s.write(ctx, s.secret(kindGrant, csv, grantName(csv)), grant); err != nil {
		return fmt.Errorf("storing the grant of ClusterServiceVersion %s: %w", csv, err)
	}
	return nil
}

// KeepUnplanned stores the record of a CSV that was applied by hand. It returns a conflict if an InstallPlan has granted the CSV something
// meanwhile.
func (s *Store) KeepUnplanned(ctx context.Context, csv types.NamespacedName, record *Grant) error {
	secret := s.secret(kindGrant, csv, grantName(csv))
	packed, err := pack(record)
	if err != nil {
		return err
	}
	existing, granted := &corev1.Secret{}, &Grant{}
	err = s.Live.Get(ctx, client.ObjectKeyFromObject(secret), existing)
	switch {
	case apierrors.IsNotFound(err):
		secret.Data = map[string][]byte{key: packed}
		err = s.Client.Create(ctx, secret, FieldOwner)
	case err == nil:
		if err = unpack(existing.Data[key], granted); err != nil {
			break
		}
		if granted.OfPlan() {
			err = apierrors.NewConflict(corev1.Resource("secrets"), secret.Name, fmt.Errorf("InstallPlan %s has granted it", granted.Plan))
			break
		}
		existing.Data = map[string][]byte{key: packed}
		err = s.Client.Update(ctx, existing, FieldOwner)
	}
	if err != nil {
		return fmt.Errorf("storing the record of ClusterServiceVersion %s: %w", csv, err)
	}
	return nil
}

// Grant returns the grant of a CSV, or nil: see Grant.
func (s *Store) Grant(ctx context.Context, csv types.NamespacedName) (*Grant, error) {
	out := &Grant{}
	found, err := s.read(ctx, s.Client, grantName(csv), out)
	if err != nil {
		return nil, fmt.Errorf("reading the grant of ClusterServiceVersion %s: %w", csv, err)
	}
	if !found {
		return nil, nil
	}
	return out, nil
}

// DropGrant deletes the grant of a deleted CSV.
func (s *Store) DropGrant(ctx context.Context, csv types.NamespacedName) error {
	return s.drop(ctx, grantName(csv))
}

// Granted reports whether an InstallPlan that installs a CSV has been applied completely.
func (s *Store) Granted(ctx context.Context, csv types.NamespacedName) (bool, error) {
	grant, err := s.Grant(ctx, csv)
	return grant.OfPlan(), err
}

// GrantOf returns the CSV whose grant a Secret holds, and whether it holds one.
func GrantOf(secret metav1.Object) (types.NamespacedName, bool) {
	if secret.GetLabels()[labelKind] != kindGrant {
		return types.NamespacedName{}, false
	}
	namespace, name, ok := strings.Cut(secret.GetAnnotations()[annotationOf], "/")
	return types.NamespacedName{Namespace: namespace, Name: name}, ok
}

// grantName returns the name of the record of a CSV: a hash, which is short and valid regardless of the CSV's name.
func grantName(csv types.NamespacedName) string {
	sum := sha256.Sum256([]byte(csv.String()))
	return kindGrant + "-" + hex.EncodeToString(sum[:12])
}
