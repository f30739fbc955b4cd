package installplan

import (
	"context"
	"fmt"
	"slices"
	"sync"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// Vouched is what an InstallPlan that was approved says of a ClusterServiceVersion which it installs.
type Vouched struct {
	// Spec has the permissions and webhooks of the manifest in the plan, and nothing else. It is nil where the plan has no
	// such manifest, or was not approved.
	Spec *olm.ClusterServiceVersionSpec

	// CatalogNamespace is the namespace of the catalog that the bundle comes from.
	CatalogNamespace string

	plan types.UID
}

// Vouchers tell what plans vouch for. They remember it from when a plan runs, so that its manifests, which are long, need
// not be read again; what is not remembered is read. The zero value is ready to use.
type Vouchers struct {
	byCSV sync.Map // of types.NamespacedName: Vouched
}

// Of is what a plan vouches for of a ClusterServiceVersion. The status of a plan is ours alone to write, whereas a
// ClusterServiceVersion may be anybody's.
func (v *Vouchers) Of(ctx context.Context, live client.Reader, csv types.NamespacedName, plan *olm.InstallPlan) (Vouched, error) {
	if found, ok := v.byCSV.Load(csv); ok && found.(Vouched).plan == plan.UID {
		return found.(Vouched), nil
	}
	read := &olm.InstallPlan{}
	if err := live.Get(ctx, client.ObjectKeyFromObject(plan), read); err != nil {
		return Vouched{}, client.IgnoreNotFound(err)
	}
	if !slices.Contains([]olm.InstallPlanPhase{olm.InstallPlanPhaseInstalling, olm.InstallPlanPhaseComplete, olm.InstallPlanPhaseFailed}, read.Status.Phase) {
		return Vouched{}, nil
	}
	for _, step := range read.Status.Plan {
		if step.Resource.Kind != v1alpha1.ClusterServiceVersionKind || step.Resource.Name != csv.Name {
			continue
		}
		object, err := Object(step)
		if err != nil {
			return Vouched{}, err
		}
		return v.note(csv, read, step, object)
	}
	return Vouched{}, nil
}

// Forget what was remembered of a ClusterServiceVersion that is gone.
func (v *Vouchers) Forget(csv types.NamespacedName) { v.byCSV.Delete(csv) }

// note remembers what the manifest of a step says, of a plan that was approved.
func (v *Vouchers) note(csv types.NamespacedName, plan *olm.InstallPlan, step *olm.Step, object *unstructured.Unstructured) (Vouched, error) {
	asked := map[string]any{}
	for _, field := range [][]string{
		{"webhookdefinitions"}, {"install", "spec", "permissions"}, {"install", "spec", "clusterPermissions"},
	} {
		value, found, err := unstructured.NestedFieldNoCopy(object.Object, append([]string{"spec"}, field...)...)
		if err == nil && found {
			err = unstructured.SetNestedField(asked, runtime.DeepCopyJSONValue(value), field...)
		}
		if err != nil {
			return Vouched{}, fmt.Errorf("the manifest of %s in InstallPlan %s: %w", title(step), plan.Name, err)
		}
	}
	spec := &olm.ClusterServiceVersionSpec{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(asked, spec); err != nil {
		return Vouched{}, fmt.Errorf("the manifest of %s in InstallPlan %s: %w", title(step), plan.Name, err)
	}
	out := Vouched{Spec: spec, CatalogNamespace: step.Resource.CatalogSourceNamespace, plan: plan.UID}
	v.byCSV.Store(csv, out)
	return out, nil
}
