package csv

import (
	"context"
	"fmt"
	"slices"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/internal/csvchain"
	"github.com/operator-status/operator-status/internal/installer/builtin/install"
	"github.com/operator-status/operator-status/internal/installer/builtin/record"
)

// inherit records the webhook configurations that OLM made for a CSV. They are deleted with it, or once the loops have registered its
// webhooks themselves: the certificates in them are no longer renewed. Any user may set their labels, so that only those are recorded that
// call nothing but Services in the namespace of the CSV.
func (r *Reconciler) inherit(ctx context.Context, s *situation) error {
	if !csvchain.Inherited(s.csv) || len(s.csv.Spec.WebhookDefinitions) == 0 {
		return nil
	}
	var found []record.Reference
	add := func(o client.Object, calls []admissionregistrationv1.WebhookClientConfig) {
		if install.IsRendered(o) || !describes(s.csv.Spec.WebhookDefinitions, o) || !onlyIn(s.csv.Namespace, calls) {
			return
		}
		ref := referenceTo(r.Client.Scheme(), o)
		ref.UID, ref.Created = o.GetUID(), true
		found = append(found, ref)
	}
	validating, mutating := &admissionregistrationv1.ValidatingWebhookConfigurationList{}, &admissionregistrationv1.MutatingWebhookConfigurationList{}
	for _, list := range []client.ObjectList{validating, mutating} {
		if err := r.Client.List(ctx, list, client.MatchingLabels(install.OwnerLabels(s.csv)), client.UnsafeDisableDeepCopy); err != nil {
			return fmt.Errorf("listing the webhooks of ClusterServiceVersion %s: %w", s.csv.Name, err)
		}
	}
	for i := range validating.Items {
		var calls []admissionregistrationv1.WebhookClientConfig
		for _, webhook := range validating.Items[i].Webhooks {
			calls = append(calls, webhook.ClientConfig)
		}
		add(&validating.Items[i], calls)
	}
	for i := range mutating.Items {
		var calls []admissionregistrationv1.WebhookClientConfig
		for _, webhook := range mutating.Items[i].Webhooks {
			calls = append(calls, webhook.ClientConfig)
		}
		add(&mutating.Items[i], calls)
	}
	return r.keep(ctx, s, s.recorded().Identity, found)
}

// describes reports whether a webhook configuration is of one of a CSV's webhooks.
func describes(definitions []olm.WebhookDescription, o client.Object) bool {
	return slices.ContainsFunc(definitions, func(d olm.WebhookDescription) bool {
		return d.GenerateName != "" && o.GetLabels()[install.LabelWebhook] == d.GenerateName
	})
}

// onlyIn reports whether webhooks call Services of a namespace, and nothing else.
func onlyIn(namespace string, webhooks []admissionregistrationv1.WebhookClientConfig) bool {
	elsewhere := func(w admissionregistrationv1.WebhookClientConfig) bool {
		return w.Service == nil || w.Service.Namespace != namespace
	}
	return len(webhooks) > 0 && !slices.ContainsFunc(webhooks, elsewhere)
}
