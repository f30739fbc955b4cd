package install

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

func withWebhooks(webhooks ...olm.WebhookDescription) change {
	return func(in *Install) { in.CSV.Spec.WebhookDefinitions = webhooks }
}

func rulesFor(group, resource string) []admissionregistrationv1.RuleWithOperations {
	return []admissionregistrationv1.RuleWithOperations{{Rule: admissionregistrationv1.Rule{APIGroups: []string{group}, Resources: []string{resource}}}}
}

// validating returns a validating webhook that fooCSV serves.
func validating(edits ...func(*olm.WebhookDescription)) olm.WebhookDescription {
	target := intstr.FromInt32(9443)
	out := olm.WebhookDescription{
		GenerateName: "vfoo.example.com", Type: olm.ValidatingAdmissionWebhook, DeploymentName: "foo-manager",
		TargetPort: &target, AdmissionReviewVersions: []string{"v1"}, Rules: rulesFor("example.com", "foos"),
	}
	for _, edit := range edits {
		edit(&out)
	}
	return out
}

// converting turns a webhook into one that converts Foos.
func converting(d *olm.WebhookDescription) {
	d.GenerateName, d.Type, d.Rules, d.ConversionCRDs = "cfoo.example.com", olm.ConversionWebhook, nil, []string{"foos.example.com"}
}

func mutating(d *olm.WebhookDescription) {
	d.GenerateName, d.Type = "mfoo.example.com", olm.MutatingAdmissionWebhook
}

// serves lists the additional objects of a Deployment that serves webhooks.
var serves = []string{
	"Service operators/foo-manager-service",
	"Secret operators/foo-manager-service-cert",
	"Role operators/foo-manager-service-cert",
	"RoleBinding operators/foo-manager-service-cert",
}

func TestWebhooks(t *testing.T) {
	in := plain(t, withWebhooks(validating(), validating(mutating)))
	out := rendered(t, in)
	want := append(append([]string{}, always[:7]...), serves...)
	want = append(want,
		"ClusterRoleBinding /foo-manager-service-auth-delegator-*",
		"RoleBinding kube-system/foo-manager-service-auth-reader-*",
		"Deployment operators/foo-manager",
		"ValidatingWebhookConfiguration /vfoo.example.com-*",
		"MutatingWebhookConfiguration /mfoo.example.com-*",
	)
	if diff := cmp.Diff(byPhase(want), listing(out)); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}

	port := int32(443)
	registered := []admissionregistrationv1.ValidatingWebhook{{
		Name: "vfoo.example.com", Rules: rulesFor("example.com", "foos"), AdmissionReviewVersions: []string{"v1"},
		ClientConfig: admissionregistrationv1.WebhookClientConfig{
			Service:  &admissionregistrationv1.ServiceReference{Namespace: "operators", Name: "foo-manager-service", Port: &port},
			CABundle: in.Certificates["foo-manager"].CA,
		},
	}}
	name := in.webhookName(validating())
	if diff := cmp.Diff(registered, found[*admissionregistrationv1.ValidatingWebhookConfiguration](t, out, name).Webhooks); diff != "" {
		t.Errorf("webhooks, with the default port 443: -want, +got:\n%s", diff)
	}
	ports := []corev1.ServicePort{{Name: "443", Port: 443, TargetPort: intstr.FromInt32(9443)}}
	service := found[*corev1.Service](t, out, "foo-manager-service").Spec
	if diff := cmp.Diff(corev1.ServiceSpec{Ports: ports, Selector: map[string]string{"app": "foo"}}, service); diff != "" {
		t.Errorf("Service with the shared port of both webhooks: -want, +got:\n%s", diff)
	}
}

// TestWebhookName verifies that an update takes over the webhook configuration, and that no two operators share one.
func TestWebhookName(t *testing.T) {
	name := plain(t).webhookName(validating())
	if next := plain(t, func(in *Install) { in.CSV.Name = "foo.v2" }).webhookName(validating()); next != name {
		t.Errorf("the next version registers %s, not %s", next, name)
	}
	if other := plain(t, func(in *Install) { in.CSV.Namespace = "other" }).webhookName(validating()); other == name {
		t.Errorf("an operator in another namespace registers %s, too", other)
	}
}

func TestWebhooksNotGranted(t *testing.T) {
	grantless := plain(t, withWebhooks(validating(), validating(converting)))
	grantless.Grant.Webhooks = nil
	for name, in := range map[string]Install{
		"nothing granted": ungranted(plain(t, withWebhooks(validating(), validating(converting)))),
		"not granted":     grantless,
	} {
		t.Run(name, func(t *testing.T) {
			out := rendered(t, in)
			for _, obj := range out.Objects {
				if _, ok := obj.Object.(*admissionregistrationv1.ValidatingWebhookConfiguration); ok {
					t.Errorf("%s was registered", obj.GetName())
				}
				if obj.GetNamespace() == "kube-system" {
					t.Errorf("%s was created although no webhooks are granted", obj.GetName())
				}
			}
			if len(out.Conversions) > 0 {
				t.Errorf("%s is converted", out.Conversions[0].CRD)
			}
			got := map[string]bool{}
			for _, left := range out.LeftOut {
				got[left] = true
			}
			for _, left := range []string{"webhook vfoo.example.com", "webhook cfoo.example.com", "client authentication for webhooks of deployment foo-manager"} {
				if !got[left] {
					t.Errorf("%q is left out, but only %q is reported", left, out.LeftOut)
				}
			}
			found[*corev1.Secret](t, out, "foo-manager-service-cert") // or the pods would not start
		})
	}
}

func TestWebhookAsGranted(t *testing.T) {
	in := plain(t, withWebhooks(validating()))
	in.CSV.Spec.WebhookDefinitions[0].Rules = rulesFor("", "secrets")
	in.Grant.Webhooks = []olm.WebhookDescription{validating()}
	got := found[*admissionregistrationv1.ValidatingWebhookConfiguration](t, rendered(t, in), in.webhookName(validating())).Webhooks[0].Rules
	if diff := cmp.Diff(rulesFor("example.com", "foos"), got); diff != "" {
		t.Errorf("the granted webhook: -want, +got:\n%s", diff)
	}
}

func TestNamespaceSelector(t *testing.T) {
	labelled := &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}
	cases := map[string]struct {
		reason  string
		targets []string
		group   operatorsv1.OperatorGroupSpec
		want    *metav1.LabelSelector
	}{
		"all": {reason: "The webhook of an operator of all namespaces has no namespace selector.", targets: []string{""}},
		"by name": {
			reason:  "Listed namespaces are selected by name.",
			targets: []string{"b", "a"},
			group:   operatorsv1.OperatorGroupSpec{TargetNamespaces: []string{"b", "a"}, Selector: labelled},
			want: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
				{Key: "kubernetes.io/metadata.name", Operator: metav1.LabelSelectorOpIn, Values: []string{"a", "b"}},
			}},
		},
		"names that cannot be": {
			reason:  "Names that are not valid DNS labels are left out, since the API server refuses them in a selector.",
			targets: []string{"test-go-", "a", "B"},
			group:   operatorsv1.OperatorGroupSpec{TargetNamespaces: []string{"test-go-", "a", "B"}},
			want: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
				{Key: "kubernetes.io/metadata.name", Operator: metav1.LabelSelectorOpIn, Values: []string{"a"}},
			}},
		},
		"no name that can be": {
			reason:  "If no name is valid, no namespace is selected instead of all.",
			targets: []string{"test-go-"},
			group:   operatorsv1.OperatorGroupSpec{TargetNamespaces: []string{"test-go-"}},
			want: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
				{Key: "kubernetes.io/metadata.name", Operator: metav1.LabelSelectorOpDoesNotExist},
			}},
		},
		"by label": {
			reason:  "The namespace selector of the OperatorGroup is used for the webhook.",
			targets: []string{"a"},
			group:   operatorsv1.OperatorGroupSpec{Selector: labelled},
			want:    labelled,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := plain(t, withWebhooks(validating()), withTargets(tc.targets...), func(in *Install) { in.Group.Spec = tc.group })
			got := found[*admissionregistrationv1.ValidatingWebhookConfiguration](t, rendered(t, in), in.webhookName(validating()))
			if diff := cmp.Diff(tc.want, got.Webhooks[0].NamespaceSelector); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestConversion(t *testing.T) {
	in := plain(t, withWebhooks(validating(converting)))
	path, port := "/", int32(443)
	want := []Conversion{{CRD: "foos.example.com", Spec: apiextensionsv1.CustomResourceConversion{
		Strategy: "Webhook",
		Webhook: &apiextensionsv1.WebhookConversion{
			ClientConfig: &apiextensionsv1.WebhookClientConfig{
				Service:  &apiextensionsv1.ServiceReference{Namespace: "operators", Name: "foo-manager-service", Path: &path, Port: &port},
				CABundle: in.Certificates["foo-manager"].CA,
			},
			ConversionReviewVersions: []string{"v1"},
		},
	}}}
	got := rendered(t, in).Conversions
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("-want, +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"foos.example.com"}, ConversionCRDs(in.CSV)); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := got[0].ApplyTo(crd); err != nil || crd.Spec.Conversion.Strategy != "Webhook" {
		t.Errorf("the conversion is not set: %v", err)
	}
	crd.Spec.PreserveUnknownFields = true
	if err := got[0].ApplyTo(crd); err == nil {
		t.Error("a conversion webhook is set although unknown fields are preserved, which the API server refuses")
	}
}

func TestMountedCertificate(t *testing.T) {
	in := plain(t, withWebhooks(validating()), withPodTemplate(func(p *corev1.PodTemplateSpec) {
		p.Spec.ServiceAccountName = ""
		p.Spec.Volumes = []corev1.Volume{{Name: "cert"}, {Name: "webhook-cert"}}
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "proxy"}, corev1.Container{Name: "mounting"})
		p.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "cert", MountPath: "/tmp/k8s-webhook-server/serving-certs"}}
		p.Spec.Containers[2].VolumeMounts = []corev1.VolumeMount{{Name: "webhook-cert", MountPath: "/elsewhere"}}
	}))
	template := found[*appsv1.Deployment](t, rendered(t, in), "foo-manager").Spec.Template
	secret := func(cert, key string) corev1.VolumeSource {
		return corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
			SecretName: "foo-manager-service-cert",
			Items:      []corev1.KeyToPath{{Key: "tls.crt", Path: cert}, {Key: "tls.key", Path: key}},
		}}
	}
	volumes := []corev1.Volume{
		{Name: "cert"},
		{Name: "webhook-cert", VolumeSource: secret("tls.crt", "tls.key")},
		{Name: "apiservice-cert", VolumeSource: secret("apiserver.crt", "apiserver.key")},
	}
	if diff := cmp.Diff(volumes, template.Spec.Volumes); diff != "" {
		t.Errorf("volumes: -want, +got:\n%s", diff)
	}
	api := corev1.VolumeMount{Name: "apiservice-cert", MountPath: "/apiserver.local.config/certificates"}
	hook := corev1.VolumeMount{Name: "webhook-cert", MountPath: "/tmp/k8s-webhook-server/serving-certs"}
	for i, want := range [][]corev1.VolumeMount{
		{hook, api}, // replaces the CSV's mount at that path
		{api, hook},
		{{Name: "webhook-cert", MountPath: "/elsewhere"}, api}, // stays where the CSV mounts it
	} {
		if diff := cmp.Diff(want, template.Spec.Containers[i].VolumeMounts); diff != "" {
			t.Errorf("container %d: -want, +got:\n%s", i, diff)
		}
	}
	if template.Spec.ServiceAccountName != "default" {
		t.Errorf("the account is %q", template.Spec.ServiceAccountName)
	}
	if template.Annotations["olmcahash"] != in.Certificates["foo-manager"].hash() {
		t.Error("the pod template does not change with the certificate")
	}
}

func TestWebhookRejects(t *testing.T) {
	cases := map[string]struct {
		reason string
		change change
		want   string
	}{
		"no deployment": {
			reason: "A webhook of a deployment that is not in the strategy is rejected.",
			change: withWebhooks(validating(func(d *olm.WebhookDescription) { d.DeploymentName = "bar" })),
			want:   `Webhook "vfoo.example.com" is invalid: deployment "bar" not found in the install strategy`,
		},
		"type": {
			reason: "An unknown webhook type is rejected.",
			change: withWebhooks(validating(func(d *olm.WebhookDescription) { d.Type = "Deleting" })),
			want:   `Webhook "vfoo.example.com" is invalid: unknown type "Deleting"`,
		},
		"twice": {
			reason: "Two webhooks of one name are rejected.",
			change: withWebhooks(validating(), validating()),
			want:   `Webhook "vfoo.example.com" is invalid: it is defined twice`,
		},
		"every group": {
			reason: "A rule for all groups is rejected, since it includes the group of OLM.",
			change: withWebhooks(validating(func(d *olm.WebhookDescription) { d.Rules = rulesFor("*", "pods") })),
			want:   "webhook rules cannot include all groups",
		},
		"OLM's group": {
			reason: "A rule for the group of OLM is rejected, since the webhook could block the operator's removal.",
			change: withWebhooks(validating(func(d *olm.WebhookDescription) { d.Rules = rulesFor("operators.coreos.com", "subscriptions") })),
			want:   "webhook rules cannot include the OLM group",
		},
		"webhooks": {
			reason: "A rule for webhook configurations is rejected.",
			change: withWebhooks(validating(func(d *olm.WebhookDescription) {
				d.Rules = rulesFor("admissionregistration.k8s.io", "validatingwebhookconfigurations")
			})),
			want: "webhook rules cannot include MutatingWebhookConfiguration or ValidatingWebhookConfiguration resources",
		},
		"everything of admission": {
			reason: "A rule for all resources of the group of webhook configurations is rejected.",
			change: withWebhooks(validating(func(d *olm.WebhookDescription) { d.Rules = rulesFor("admissionregistration.k8s.io", "*/*") })),
			want:   "webhook rules cannot include MutatingWebhookConfiguration or ValidatingWebhookConfiguration resources",
		},
		"ports": {
			reason: "Two target ports for one port of the Service are rejected.",
			change: withWebhooks(validating(), validating(mutating, func(d *olm.WebhookDescription) { d.TargetPort = nil })),
			want:   `Webhook "mfoo.example.com" is invalid: port 443 of deployment "foo-manager" has two target ports, 9443 and 443`,
		},
		"conversion of another's": {
			reason: "A conversion webhook for a CRD that the operator does not own is rejected.",
			change: withWebhooks(validating(converting, func(d *olm.WebhookDescription) { d.ConversionCRDs = []string{"bars.example.com"} })),
			want:   `Webhook "cfoo.example.com" is invalid: it converts bars.example.com, which the operator does not own`,
		},
		"conversion of nothing": {
			reason: "A conversion webhook without CRDs is rejected.",
			change: withWebhooks(validating(converting, func(d *olm.WebhookDescription) { d.ConversionCRDs = nil })),
			want:   `Webhook "cfoo.example.com" is invalid: conversionCRDs is empty`,
		},
		"conversion by a namespaced operator": {
			reason: "A conversion webhook is rejected unless the operator supports all namespaces, since CRDs are cluster-scoped.",
			change: func(in *Install) {
				withWebhooks(validating(converting))(in)
				in.CSV.Spec.InstallModes = append(in.CSV.Spec.InstallModes, olm.InstallMode{Type: olm.InstallModeTypeOwnNamespace, Supported: true})
			},
			want: `Webhook "cfoo.example.com" is invalid: conversion requires AllNamespaces to be the only supported install mode`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Render(plain(t, tc.change))
			var got *Error
			if !errors.As(err, &got) {
				t.Fatalf("%s\ngot: %v", tc.reason, err)
			}
			if diff := cmp.Diff(Error{v1alpha1.CSVReasonInvalidWebhookDescription, tc.want}, *got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
