package csv

import (
	"context"
	"fmt"
	"slices"
	"sync"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/lifecycle/csv/install"
	"github.com/operator-status/operator-status/internal/lifecycle/installplan"
)

// grants remembers what InstallPlans vouch for, so that a plan's manifests are read once. It can be forgotten at any
// time.
type grants struct {
	mu    sync.Mutex
	byCSV map[types.NamespacedName]granted
}

type granted struct {
	plan types.UID
	spec *olm.ClusterServiceVersionSpec // permissions and webhooks alone
	from string                         // the namespace of the catalog
}

func (g *grants) find(csv types.NamespacedName, plan types.UID) (granted, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	out, ok := g.byCSV[csv]
	return out, ok && out.plan == plan
}

func (g *grants) remember(csv types.NamespacedName, grant granted) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.byCSV == nil {
		g.byCSV = map[types.NamespacedName]granted{}
	}
	g.byCSV[csv] = grant
}

func (g *grants) forget(csv types.NamespacedName) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.byCSV, csv)
}

// grant is what the operator may be given: what the manifest in the InstallPlan says that installed it. The status of a
// plan is ours alone to write, whereas a ClusterServiceVersion may be anybody's. Without a plan nothing is granted.
func (r *Reconciler) grant(ctx context.Context, s *situation) (install.Grant, error) {
	name := s.csv.Annotations[v1alpha1.AnnotationInstallPlan]
	if name == "" {
		return install.Grant{}, nil
	}
	plan := &olm.InstallPlan{}
	if err := r.Client.Get(ctx, types.NamespacedName{Namespace: s.csv.Namespace, Name: name}, plan); err != nil {
		return install.Grant{}, client.IgnoreNotFound(err)
	}
	key := client.ObjectKeyFromObject(s.csv)
	found, ok := r.grants.find(key, plan.UID)
	if !ok {
		var err error
		if found, err = r.vouched(ctx, key, plan); err != nil || found.spec == nil {
			return install.Grant{}, err
		}
		r.grants.remember(key, found)
	}
	return install.GrantOf(found.spec, installplan.MayReachBeyond(s.group, found.from, r.GlobalNamespace)), nil
}

// vouched reads the manifest of a ClusterServiceVersion in a plan, which must have been approved.
func (r *Reconciler) vouched(ctx context.Context, csv types.NamespacedName, plan *olm.InstallPlan) (granted, error) {
	live := &olm.InstallPlan{}
	if err := r.Reader.Get(ctx, client.ObjectKeyFromObject(plan), live); err != nil {
		return granted{}, client.IgnoreNotFound(err)
	}
	if !slices.Contains([]olm.InstallPlanPhase{olm.InstallPlanPhaseInstalling, olm.InstallPlanPhaseComplete, olm.InstallPlanPhaseFailed}, live.Status.Phase) {
		return granted{}, nil
	}
	for _, step := range live.Status.Plan {
		if step.Resource.Kind != v1alpha1.ClusterServiceVersionKind || step.Resource.Name != csv.Name {
			continue
		}
		object, err := installplan.Object(step)
		if err != nil {
			return granted{}, err
		}
		manifest := &v1alpha1.ClusterServiceVersion{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, manifest); err != nil {
			return granted{}, fmt.Errorf("the manifest of ClusterServiceVersion %s in InstallPlan %s: %w", csv.Name, live.Name, err)
		}
		spec := &olm.ClusterServiceVersionSpec{WebhookDefinitions: manifest.Spec.WebhookDefinitions}
		spec.InstallStrategy.StrategySpec.Permissions = manifest.Spec.InstallStrategy.StrategySpec.Permissions
		spec.InstallStrategy.StrategySpec.ClusterPermissions = manifest.Spec.InstallStrategy.StrategySpec.ClusterPermissions
		return granted{plan: live.UID, spec: spec, from: step.Resource.CatalogSourceNamespace}, nil
	}
	return granted{}, nil
}
