package csv

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/builtin/install"
)

// ownObjects rejects a CSV if another operator of the namespace has an object of the same name as one of its own: each would
// overwrite or delete that of the other. Several operators may run as one service account: see mergeOwners.
func (r *Reconciler) ownObjects(ctx context.Context, s *situation, rendered install.Rendered) (*Verdict, error) {
	for _, o := range rendered.Objects {
		if _, shared := o.Object.(*corev1.ServiceAccount); shared || o.GetNamespace() != s.csv.Namespace {
			continue
		}
		other, err := r.otherOwner(ctx, s, o.Object)
		if err != nil {
			return nil, err
		}
		if other == nil {
			continue
		}
		out := fails(v1alpha1.CSVReasonOwnerConflict, fmt.Sprintf("ClusterServiceVersion %s/%s already owns %s %s: uninstall one of the two operators",
			other.Namespace, other.Name, o.GetObjectKind().GroupVersionKind().Kind, o.GetName()))
		out.Again = r.backOff(s) // of another operator's CSV no event is handled
		return out, nil
	}
	return nil, nil
}

// otherOwner returns the CSV of another operator that owns an object, or nil. It keeps the object, unless that belongs to both
// and this CSV is the older one. References to a CSV that no longer exists do not count.
func (r *Reconciler) otherOwner(ctx context.Context, s *situation, desired client.Object) (*v1alpha1.ClusterServiceVersion, error) {
	actual, err := r.actual(ctx, desired)
	if actual == nil || err != nil {
		return nil, err
	}
	for _, owner := range actual.GetOwnerReferences() {
		other, err := r.cached(ctx, types.NamespacedName{Namespace: s.csv.Namespace, Name: owner.Name})
		if err != nil {
			return nil, err
		}
		if other == nil || other.UID != owner.UID || s.related(other) || isOwner(s.csv, actual) && olderThan(s.csv, other) {
			continue
		}
		return other, nil
	}
	return nil, nil
}
