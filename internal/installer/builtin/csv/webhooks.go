package csv

import (
	"context"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/builtin/install"
)

// collectWebhooks deletes the webhook configurations that OLM made for a CSV that has been deleted: the certificates in them are no longer
// served, so custom resources could not be written. Nothing records them, and any user may set their labels, so that only those are deleted
// that call nothing but Services in the namespace of the CSV.
func (r *Reconciler) collectWebhooks(ctx context.Context, csv types.NamespacedName) error {
	owner := install.OwnerLabels(&v1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: csv.Namespace, Name: csv.Name}})
	validating, mutating := &admissionregistrationv1.ValidatingWebhookConfigurationList{}, &admissionregistrationv1.MutatingWebhookConfigurationList{}
	for _, list := range []client.ObjectList{validating, mutating} {
		if err := r.Client.List(ctx, list, client.MatchingLabels(owner)); err != nil {
			return fmt.Errorf("listing the webhooks of deleted ClusterServiceVersion %s: %w", csv, err)
		}
	}
	var left []client.Object
	for i := range validating.Items {
		var calls []admissionregistrationv1.WebhookClientConfig
		for _, webhook := range validating.Items[i].Webhooks {
			calls = append(calls, webhook.ClientConfig)
		}
		if onlyIn(csv.Namespace, calls) {
			left = append(left, &validating.Items[i])
		}
	}
	for i := range mutating.Items {
		var calls []admissionregistrationv1.WebhookClientConfig
		for _, webhook := range mutating.Items[i].Webhooks {
			calls = append(calls, webhook.ClientConfig)
		}
		if onlyIn(csv.Namespace, calls) {
			left = append(left, &mutating.Items[i])
		}
	}
	for _, o := range left {
		if err := r.Client.Delete(ctx, o, client.Preconditions{UID: new(o.GetUID())}); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting webhook %s of deleted ClusterServiceVersion %s: %w", o.GetName(), csv, err)
		}
		log.FromContext(ctx).Info("Deleted webhook of a deleted ClusterServiceVersion", "name", o.GetName())
	}
	return nil
}

// onlyIn reports whether webhooks call Services of a namespace, and nothing else.
func onlyIn(namespace string, webhooks []admissionregistrationv1.WebhookClientConfig) bool {
	for _, w := range webhooks {
		if w.Service == nil || w.Service.Namespace != namespace {
			return false
		}
	}
	return len(webhooks) > 0
}
