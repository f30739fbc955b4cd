package csv

import (
	"context"
	"fmt"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/builtin/install"
)

// replaceDeployments deletes Deployments whose selector must change, since it is immutable, and waits until they and
// their pods no longer exist: two versions of an operator must not run side by side.
func (r *Reconciler) replaceDeployments(ctx context.Context, s *situation, rendered install.Rendered) (*Verdict, error) {
	for _, o := range rendered.Objects {
		desired, ok := o.Object.(*appsv1.Deployment)
		if !ok {
			continue
		}
		actual := &appsv1.Deployment{}
		if err := r.Client.Get(ctx, client.ObjectKeyFromObject(desired), actual); err != nil {
			if client.IgnoreNotFound(err) == nil {
				continue
			}
			return nil, fmt.Errorf("getting Deployment %s: %w", client.ObjectKeyFromObject(desired), err)
		}
		if actual.DeletionTimestamp.IsZero() && equality.Semantic.DeepEqual(actual.Spec.Selector, desired.Spec.Selector) {
			continue
		}
		if actual.DeletionTimestamp.IsZero() {
			as, err := s.installer()
			if err != nil {
				return r.rejection(s, err)
			}
			log.FromContext(ctx).Info("Deleted Deployment whose selector changes", "deployment", client.ObjectKeyFromObject(actual))
			err = as.Delete(ctx, actual, client.Preconditions{UID: &actual.UID}, client.PropagationPolicy(metav1.DeletePropagationForeground))
			if client.IgnoreNotFound(err) != nil {
				return r.rejection(s, fmt.Errorf("deleting the %s: %w", o.For, err))
			}
		}
		return &Verdict{Phase: olm.CSVPhaseInstalling, Reason: v1alpha1.CSVReasonInstallWaiting, Message: fmt.Sprintf(
			"Recreating Deployment %s, whose selector is immutable: waiting for its pods to terminate", desired.Name)}, nil
	}
	return nil, nil
}
