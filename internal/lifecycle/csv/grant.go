package csv

import (
	"context"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/lifecycle/csv/install"
	"github.com/operator-status/operator-status/internal/lifecycle/installplan"
)

// grant is what the operator may be given: what the manifest in the InstallPlan says that installed it. Without a plan
// nothing is granted.
func (r *Reconciler) grant(ctx context.Context, s *situation) (install.Grant, error) {
	name := s.csv.Annotations[v1alpha1.AnnotationInstallPlan]
	if name == "" {
		return install.Grant{}, nil
	}
	plan := &olm.InstallPlan{}
	if err := r.Client.Get(ctx, types.NamespacedName{Namespace: s.csv.Namespace, Name: name}, plan); err != nil {
		return install.Grant{}, client.IgnoreNotFound(err)
	}
	vouched, err := r.Vouchers.Of(ctx, r.Reader, client.ObjectKeyFromObject(s.csv), plan)
	if err != nil || vouched.Spec == nil {
		return install.Grant{}, err
	}
	return install.GrantOf(vouched.Spec, installplan.MayReachBeyond(s.group, vouched.CatalogNamespace, r.GlobalNamespace)), nil
}
