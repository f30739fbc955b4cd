package operatorgroup

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/operatorgroup"
)

// annotate lists the APIs that the operators of a namespace provide in an annotation of its OperatorGroup, as OLM does,
// for users and scripts. With spec.staticProvidedAPIs the annotation belongs to the administrator and is never written.
func (r *Reconciler) annotate(ctx context.Context, group *operatorsv1.OperatorGroup, csvs map[string]*v1alpha1.ClusterServiceVersion) error {
	if group.Spec.StaticProvidedAPIs {
		return nil
	}
	const key = operatorsv1.OperatorGroupProvidedAPIsAnnotationKey
	desired := provided(csvs)
	if group.Annotations[key] == desired {
		return nil // also if the annotation is missing and nothing is provided
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{key: desired}}})
	if err != nil {
		return err
	}
	if err := r.Client.Patch(ctx, group.DeepCopy(), client.RawPatch(types.MergePatchType, patch), FieldOwner); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("writing annotation %s of OperatorGroup %s: %w", key, client.ObjectKeyFromObject(group), err)
	}
	return nil
}

func provided(csvs map[string]*v1alpha1.ClusterServiceVersion) string {
	var out []string
	for _, csv := range csvs {
		if operatorgroup.Member(csv) {
			out = append(out, operatorgroup.ProvidedAPIs(csv)...)
		}
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), ",")
}

// membershipChanged is a predicate for updates of a CSV that becomes or ceases to be an active member of its
// OperatorGroup.
var membershipChanged = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	before, isCSV := e.ObjectOld.(*v1alpha1.ClusterServiceVersion)
	after, stillCSV := e.ObjectNew.(*v1alpha1.ClusterServiceVersion)
	return isCSV && stillCSV && operatorgroup.Member(before) != operatorgroup.Member(after)
}}
