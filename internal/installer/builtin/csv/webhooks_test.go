package csv

import (
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/internal/installer/builtin/install"
)

// TestCollectWebhooks verifies which webhooks of a deleted CSV are deleted although nothing records them.
func TestCollectWebhooks(t *testing.T) {
	owner := csv("v1")
	service := func(namespace string) admissionregistrationv1.WebhookClientConfig {
		return admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{Namespace: namespace, Name: "foo-service"}}
	}
	url := admissionregistrationv1.WebhookClientConfig{URL: new("https://example.com")}
	for name, tc := range map[string]struct {
		reason string
		owner  string
		calls  []admissionregistrationv1.WebhookClientConfig
		stays  bool
	}{
		"OfOLM":     {reason: "Its certificate is no longer served.", owner: "v1", calls: []admissionregistrationv1.WebhookClientConfig{service("default")}},
		"Successor": {reason: "The next version has its own.", owner: "v2", calls: []admissionregistrationv1.WebhookClientConfig{service("default")}, stays: true},
		"Labeled": {reason: "A label on the webhook of others does not have it deleted.", owner: "v1",
			calls: []admissionregistrationv1.WebhookClientConfig{service("default"), service("other")}, stays: true},
		"URL":   {reason: "Nor on one that calls another server.", owner: "v1", calls: []admissionregistrationv1.WebhookClientConfig{url}, stays: true},
		"Empty": {reason: "Nor on one that calls nothing.", owner: "v1", stays: true},
	} {
		t.Run(name, func(t *testing.T) {
			labels := install.OwnerLabels(csv(tc.owner))
			validating := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "validating", UID: "uid-1", Labels: labels}}
			mutating := &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "mutating", UID: "uid-2", Labels: labels}}
			for _, c := range tc.calls {
				validating.Webhooks = append(validating.Webhooks, admissionregistrationv1.ValidatingWebhook{ClientConfig: c})
				mutating.Webhooks = append(mutating.Webhooks, admissionregistrationv1.MutatingWebhook{ClientConfig: c})
			}
			r := reconciler(t, validating, mutating)
			if err := r.collect(t.Context(), client.ObjectKeyFromObject(owner)); err != nil {
				t.Fatal(err)
			}
			for _, o := range []client.Object{validating, mutating} {
				if err := r.Client.Get(t.Context(), client.ObjectKeyFromObject(o), o); client.IgnoreNotFound(err) != nil {
					t.Fatal(err)
				} else if apierrors.IsNotFound(err) == tc.stays {
					t.Errorf("%s\n%s stays: %t", tc.reason, o.GetName(), !tc.stays)
				}
			}
		})
	}
}
