package csv

import (
	"context"
	"encoding/json"
	"fmt"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/internal/installer/builtin/install"
)

// annotate sets the annotations of a CSV that name its OperatorGroup and current target namespaces, as OLM does. Users
// and scripts read them; this project does not.
func (r *Reconciler) annotate(ctx context.Context, s *situation) error {
	desired := map[string]string{
		operatorsv1.OperatorGroupAnnotationKey:          s.group.Name,
		operatorsv1.OperatorGroupNamespaceAnnotationKey: s.group.Namespace,
	}
	if len(s.targets) > 0 {
		desired[operatorsv1.OperatorGroupTargetsAnnotationKey] = install.TargetsAnnotation(s.targets)
	}
	changed := map[string]string{}
	for name, value := range desired {
		if actual, ok := s.csv.Annotations[name]; !ok || actual != value {
			changed[name] = value
		}
	}
	if len(changed) == 0 {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": changed}})
	if err != nil {
		return err
	}
	out := s.csv.DeepCopy()
	if err := r.Client.Patch(ctx, out, client.RawPatch(types.MergePatchType, patch), FieldOwner); err != nil {
		return fmt.Errorf("annotating ClusterServiceVersion %s: %w", client.ObjectKeyFromObject(s.csv), err)
	}
	s.csv = s.csv.DeepCopy() // the cache shares it
	s.csv.Annotations, s.csv.ResourceVersion = out.Annotations, out.ResourceVersion
	return nil
}
