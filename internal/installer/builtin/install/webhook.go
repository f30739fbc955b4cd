package install

import (
	"maps"
	"slices"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

const (
	// LabelWebhook on a webhook configuration is its name in the CSV.
	LabelWebhook = "olm.webhook-description-generate-name"

	defaultWebhookPort = 443
)

// Conversion is the conversion of a CustomResourceDefinition's custom resources between versions.
type Conversion struct {
	CRD  string
	Spec apiextensionsv1.CustomResourceConversion
}

// ApplyTo sets the conversion on its CustomResourceDefinition.
func (c Conversion) ApplyTo(crd *apiextensionsv1.CustomResourceDefinition) error {
	if crd.Spec.PreserveUnknownFields {
		return invalid(v1alpha1.CSVReasonInvalidWebhookDescription,
			"CustomResourceDefinition %s cannot have a conversion webhook while spec.preserveUnknownFields is true", crd.Name)
	}
	crd.Spec.Conversion = c.Spec.DeepCopy()
	return nil
}

// ConversionCRDs returns the CustomResourceDefinitions that a CSV converts, sorted. If the CSV is deleted without a
// replacement, their conversion has to be set to None, since nothing serves it.
func ConversionCRDs(csv *v1alpha1.ClusterServiceVersion) []string {
	var out []string
	for _, d := range csv.Spec.WebhookDefinitions {
		if d.Type == olm.ConversionWebhook {
			out = append(out, d.ConversionCRDs...)
		}
	}
	return sorted(out)
}

// withGrantedWebhooks returns the CSV with its webhooks as they were granted, and with ports. Others stay as they are:
// they are served, but not registered.
func (in Install) withGrantedWebhooks() *v1alpha1.ClusterServiceVersion {
	out := in.CSV.DeepCopy()
	for i, d := range out.Spec.WebhookDefinitions {
		if granted := in.grantedWebhook(d); granted != nil {
			out.Spec.WebhookDefinitions[i] = *granted.DeepCopy()
		}
		out.Spec.WebhookDefinitions[i].ContainerPort = port(out.Spec.WebhookDefinitions[i])
	}
	return out
}

// grantedWebhook returns the granted webhook with the same name, type and Deployment, or nil.
func (in Install) grantedWebhook(d olm.WebhookDescription) *olm.WebhookDescription {
	for i, granted := range in.Grant.Webhooks {
		if granted.GenerateName == d.GenerateName && granted.Type == d.Type && granted.DeploymentName == d.DeploymentName {
			return &in.Grant.Webhooks[i]
		}
	}
	return nil
}

func port(d olm.WebhookDescription) int32 {
	if d.ContainerPort > 0 {
		return d.ContainerPort
	}
	return defaultWebhookPort
}

func webhookConfigurations(in Install, out *Rendered) {
	selector := in.namespaceSelector()
	for _, d := range in.CSV.Spec.WebhookDefinitions {
		if d.Type == olm.ConversionWebhook {
			continue
		}
		if in.grantedWebhook(d) == nil {
			out.LeftOut = append(out.LeftOut, "webhook "+d.GenerateName)
			continue
		}
		meta := in.owned(metav1.NamespaceNone, in.webhookName(d), map[string]string{LabelWebhook: d.GenerateName})
		ca := in.Certificates[d.DeploymentName].CA
		if d.Type == olm.ValidatingAdmissionWebhook {
			out.add("webhook "+d.GenerateName, &admissionregistrationv1.ValidatingWebhookConfiguration{
				TypeMeta:   typeMeta(admissionregistrationv1.SchemeGroupVersion, "ValidatingWebhookConfiguration"),
				ObjectMeta: meta,
				Webhooks:   []admissionregistrationv1.ValidatingWebhook{d.GetValidatingWebhook(in.CSV.Namespace, selector, ca)},
			})
			continue
		}
		out.add("webhook "+d.GenerateName, &admissionregistrationv1.MutatingWebhookConfiguration{
			TypeMeta:   typeMeta(admissionregistrationv1.SchemeGroupVersion, "MutatingWebhookConfiguration"),
			ObjectMeta: meta,
			Webhooks:   []admissionregistrationv1.MutatingWebhook{d.GetMutatingWebhook(in.CSV.Namespace, selector, ca)},
		})
	}
}

// webhookName returns a name that does not depend on the CSV's: the next version takes over the configuration, so
// requests are not sent to both.
func (in Install) webhookName(d olm.WebhookDescription) string {
	return clusterName(d.GenerateName, in.CSV.Namespace, d.DeploymentName, d.GenerateName, string(d.Type))
}

// conversions renders the conversions of the CSV's webhooks.
func conversions(in Install, out *Rendered) {
	found := map[string]Conversion{}
	for _, d := range in.CSV.Spec.WebhookDefinitions {
		if d.Type != olm.ConversionWebhook {
			continue
		}
		if in.grantedWebhook(d) == nil {
			out.LeftOut = append(out.LeftOut, "webhook "+d.GenerateName)
			continue
		}
		path, port := "/", d.ContainerPort
		if d.WebhookPath != nil {
			path = *d.WebhookPath
		}
		for _, crd := range d.ConversionCRDs {
			found[crd] = Conversion{CRD: crd, Spec: apiextensionsv1.CustomResourceConversion{
				Strategy: apiextensionsv1.WebhookConverter,
				Webhook: &apiextensionsv1.WebhookConversion{
					ClientConfig: &apiextensionsv1.WebhookClientConfig{
						Service: &apiextensionsv1.ServiceReference{
							Namespace: in.CSV.Namespace, Name: serviceName(d.DeploymentName), Path: &path, Port: &port,
						},
						CABundle: in.Certificates[d.DeploymentName].CA,
					},
					ConversionReviewVersions: d.AdmissionReviewVersions,
				},
			}}
		}
	}
	for _, crd := range slices.Sorted(maps.Keys(found)) {
		out.Conversions = append(out.Conversions, found[crd])
	}
}
