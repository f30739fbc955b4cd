package csv

import (
	"testing"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/apply"
	"github.com/operator-status/operator-status/internal/installer/builtin/install"
)

// TestInherit verifies which webhooks that OLM registered for a CSV are deleted with it, or once the loops have registered its own.
func TestInherit(t *testing.T) {
	service := func(namespace string) admissionregistrationv1.WebhookClientConfig {
		return admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{Namespace: namespace, Name: "foo-service"}}
	}
	own := []admissionregistrationv1.WebhookClientConfig{service("default")}
	url := admissionregistrationv1.WebhookClientConfig{URL: new("https://example.com")}
	cases := map[string]struct {
		reason string
		name   string // of the webhook in the CSV, by the label
		owner  string
		uid    types.UID // of what is there when the CSV is deleted
		calls  []admissionregistrationv1.WebhookClientConfig
		plan   string
		stays  bool
	}{
		"OfOLM":      {reason: "Its certificate is no longer served.", calls: own},
		"Successor":  {reason: "It is of the next version.", owner: "v2", calls: own, stays: true},
		"Another":    {reason: "It is of no webhook of the CSV.", name: "bar", calls: own, stays: true},
		"CreatedNow": {reason: "Another object by that name has been created since.", uid: "uid-9", calls: own, stays: true},
		"Elsewhere": {reason: "A label on the webhook of others does not have it deleted.", stays: true,
			calls: []admissionregistrationv1.WebhookClientConfig{service("default"), service("other")}},
		"URL":   {reason: "Nor on one that calls another server.", calls: []admissionregistrationv1.WebhookClientConfig{url}, stays: true},
		"Empty": {reason: "Nor on one that calls nothing.", stays: true},
		"Loops": {reason: "The loops record what they register.", plan: "install-foo", calls: own, stays: true},
	}
	for name, tc := range cases {
		for how, act := range map[string]func(*Reconciler, *situation) error{
			"Collect": func(r *Reconciler, s *situation) error {
				return r.collect(t.Context(), client.ObjectKeyFromObject(s.csv))
			},
			"Disarm": func(r *Reconciler, s *situation) error { return r.disarm(t.Context(), s) },
			"Prune":  func(r *Reconciler, s *situation) error { return r.prune(t.Context(), s, install.Rendered{}) },
		} {
			t.Run(name+"/"+how, func(t *testing.T) {
				owner := csv("v1")
				owner.Status.Phase = olm.CSVPhaseSucceeded
				owner.Spec.WebhookDefinitions = []olm.WebhookDescription{{GenerateName: "foo"}}
				if tc.plan != "" {
					owner.Annotations = map[string]string{v1alpha1.AnnotationInstallPlan: tc.plan}
				}
				labels := install.OwnerLabels(owner)
				labels[install.LabelWebhook] = "foo"
				if tc.name != "" {
					labels[install.LabelWebhook] = tc.name
				}
				if tc.owner != "" {
					labels[install.LabelOwner] = tc.owner
				}
				validating := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "validating", UID: "uid-1", Labels: labels}}
				mutating := &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "mutating", UID: "uid-2", Labels: labels}}
				for _, c := range tc.calls {
					validating.Webhooks = append(validating.Webhooks, admissionregistrationv1.ValidatingWebhook{ClientConfig: c})
					mutating.Webhooks = append(mutating.Webhooks, admissionregistrationv1.MutatingWebhook{ClientConfig: c})
				}
				r := reconciler(t, validating, mutating)
				r.Trust = apply.Trust{All: true}
				s := &situation{csv: owner, installer: func() (client.Client, error) { return r.Client, nil }}
				if err := r.inherit(t.Context(), s); err != nil {
					t.Fatal(err)
				}
				if tc.uid != "" {
					for _, o := range []client.Object{validating, mutating} {
						if err := r.Client.Delete(t.Context(), o); err != nil {
							t.Fatal(err)
						}
						o.SetUID(tc.uid)
						o.SetResourceVersion("")
						if err := r.Client.Create(t.Context(), o); err != nil {
							t.Fatal(err)
						}
					}
				}
				if err := act(r, s); err != nil {
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
}
