package install

import (
	"slices"
	"strconv"
	"strings"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// annotationCAHash on a pod template changes with the certificate, so the pods are replaced.
const annotationCAHash = "olmcahash"

// caKey is the key of the CA certificate in the serving Secret.
const caKey = "olmCAKey"

// serving renders a Deployment's objects for webhooks: a Service, its certificate, and the permission to authenticate
// clients.
func serving(in Install, out *Rendered) {
	for _, d := range servingDeployments(in.CSV) {
		purpose := "webhooks of deployment " + d.Name
		out.add(purpose, in.service(d), in.secret(d.Name))
		out.add(purpose, in.secretRole(d)...)
		if slices.ContainsFunc(in.CSV.Spec.WebhookDefinitions, func(w olm.WebhookDescription) bool {
			return w.DeploymentName == d.Name && in.grantedWebhook(w) != nil
		}) {
			out.add("client authentication for "+purpose, in.authenticationBindings(d)...)
		} else {
			out.LeftOut = append(out.LeftOut, "client authentication for "+purpose)
		}
	}
}

// servingDeployments returns the Deployments that serve webhooks, in order.
func servingDeployments(csv *v1alpha1.ClusterServiceVersion) []olm.StrategyDeploymentSpec {
	var out []olm.StrategyDeploymentSpec
	for _, d := range csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		if slices.ContainsFunc(csv.Spec.WebhookDefinitions, func(w olm.WebhookDescription) bool { return w.DeploymentName == d.Name }) {
			out = append(out, d)
		}
	}
	return out
}

func serviceName(deployment string) string {
	return strings.ReplaceAll(deployment, ".", "-") + "-service"
}

// SecretName returns the name of the Secret with the serving certificate of a Deployment.
func SecretName(deployment string) string {
	return serviceName(deployment) + "-cert"
}

func (in Install) service(d olm.StrategyDeploymentSpec) *corev1.Service {
	service := &corev1.Service{
		TypeMeta:   typeMeta(corev1.SchemeGroupVersion, "Service"),
		ObjectMeta: in.own(serviceName(d.Name)),
	}
	if d.Spec.Selector != nil {
		service.Spec.Selector = d.Spec.Selector.DeepCopy().MatchLabels
	}
	for _, w := range in.CSV.Spec.WebhookDefinitions {
		if w.DeploymentName == d.Name && !slices.Contains(service.Spec.Ports, servicePort(w)) {
			service.Spec.Ports = append(service.Spec.Ports, servicePort(w))
		}
	}
	return service
}

func servicePort(w olm.WebhookDescription) corev1.ServicePort {
	port := port(w)
	target := intstr.FromInt32(port)
	if w.TargetPort != nil {
		target = *w.TargetPort
	}
	return corev1.ServicePort{Name: strconv.Itoa(int(port)), Port: port, TargetPort: target}
}

func (in Install) secret(deployment string) *corev1.Secret {
	cert := in.Certificates[deployment]
	secret := &corev1.Secret{
		TypeMeta:   typeMeta(corev1.SchemeGroupVersion, "Secret"),
		ObjectMeta: in.own(SecretName(deployment)),
		Type:       corev1.SecretTypeTLS,
		Data:       map[string][]byte{corev1.TLSCertKey: cert.Cert, corev1.TLSPrivateKeyKey: cert.Key, caKey: cert.CA},
	}
	secret.Annotations = map[string]string{annotationCAHash: cert.hash()}
	return secret
}

// secretRole returns the permission to read the serving certificate.
func (in Install) secretRole(d olm.StrategyDeploymentSpec) objects {
	name := SecretName(d.Name)
	return objects{
		&rbacv1.Role{
			TypeMeta:   typeMeta(rbacv1.SchemeGroupVersion, "Role"),
			ObjectMeta: in.own(name),
			Rules: []rbacv1.PolicyRule{{
				Verbs: []string{"get"}, APIGroups: []string{corev1.GroupName}, Resources: []string{"secrets"}, ResourceNames: []string{name},
			}},
		},
		&rbacv1.RoleBinding{
			TypeMeta:   typeMeta(rbacv1.SchemeGroupVersion, "RoleBinding"),
			ObjectMeta: in.own(name),
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
			Subjects:   []rbacv1.Subject{subject(in.account(accountOf(d)))},
		},
	}
}

// authenticationBindings returns the permission to authenticate clients through the API server. The names depend on the
// namespace, since several namespaces may have Deployments of the same name.
func (in Install) authenticationBindings(d olm.StrategyDeploymentSpec) objects {
	service := serviceName(d.Name)
	subjects := []rbacv1.Subject{subject(in.account(accountOf(d)))}
	name := func(purpose string) string {
		return clusterName(service+"-"+purpose, in.CSV.Namespace, service)
	}
	return objects{
		&rbacv1.ClusterRoleBinding{
			TypeMeta:   typeMeta(rbacv1.SchemeGroupVersion, "ClusterRoleBinding"),
			ObjectMeta: in.owned(metav1.NamespaceNone, name("auth-delegator")),
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "system:auth-delegator"},
			Subjects:   subjects,
		},
		&rbacv1.RoleBinding{
			TypeMeta:   typeMeta(rbacv1.SchemeGroupVersion, "RoleBinding"),
			ObjectMeta: in.owned(metav1.NamespaceSystem, name("auth-reader")),
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "extension-apiserver-authentication-reader"},
			Subjects:   subjects,
		},
	}
}

// accountOf returns the service account of a Deployment's pods.
func accountOf(d olm.StrategyDeploymentSpec) string {
	if name := d.Spec.Template.Spec.ServiceAccountName; name != "" {
		return name
	}
	return defaultAccount
}

// mountCertificate mounts the serving certificate in the directories that API servers and controller-runtime read it
// from.
func mountCertificate(template *corev1.PodTemplateSpec, deployment string, cert Certificate) {
	pod := &template.Spec
	if pod.ServiceAccountName == "" {
		pod.ServiceAccountName = defaultAccount
	}
	annotate(template, map[string]string{annotationCAHash: cert.hash()})
	for _, m := range []struct{ volume, path, cert, key string }{
		{"apiservice-cert", "/apiserver.local.config/certificates", "apiserver.crt", "apiserver.key"},
		{"webhook-cert", "/tmp/k8s-webhook-server/serving-certs", corev1.TLSCertKey, corev1.TLSPrivateKeyKey},
	} {
		pod.Volumes = overlay(pod.Volumes, []corev1.Volume{{
			Name: m.volume,
			VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
				SecretName: SecretName(deployment),
				Items:      []corev1.KeyToPath{{Key: corev1.TLSCertKey, Path: m.cert}, {Key: corev1.TLSPrivateKeyKey, Path: m.key}},
			}},
		}}, func(a, b corev1.Volume) bool { return a.Name == b.Name })
		for i := range pod.Containers {
			mount(&pod.Containers[i], corev1.VolumeMount{Name: m.volume, MountPath: m.path})
		}
	}
}

// mount adds a volume mount unless the volume is mounted already. It replaces another mount at the same path.
func mount(c *corev1.Container, m corev1.VolumeMount) {
	i := slices.IndexFunc(c.VolumeMounts, func(have corev1.VolumeMount) bool { return have.Name == m.Name || have.MountPath == m.MountPath })
	switch {
	case i < 0:
		c.VolumeMounts = append(c.VolumeMounts, m)
	case c.VolumeMounts[i].Name != m.Name:
		c.VolumeMounts[i] = m
	}
}
