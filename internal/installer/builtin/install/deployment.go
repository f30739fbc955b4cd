package install

import (
	"maps"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/operator-status/operator-status/internal/installer"
)

// deployments renders the Deployments of the install strategy.
func deployments(in Install, out *Rendered) {
	for _, d := range in.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		deployment := &appsv1.Deployment{
			TypeMeta:   typeMeta(appsv1.SchemeGroupVersion, "Deployment"),
			ObjectMeta: in.own(d.Name, d.Label),
			Spec:       *d.Spec.DeepCopy(),
		}
		if cert, ok := in.Certificates[d.Name]; ok {
			mountCertificate(&deployment.Spec.Template, d.Name, cert)
		}
		annotate(&deployment.Spec.Template, in.templateAnnotations())
		configure(deployment, in.Config.DeepCopy())
		setEnv(&deployment.Spec.Template.Spec, []corev1.EnvVar{{Name: installer.EnvOperatorCondition, Value: in.CSV.Name}})
		one := int32(1)
		deployment.Spec.RevisionHistoryLimit = &one // operators are not rolled back
		out.add("deployment "+d.Name, deployment)
	}
}

// templateAnnotations returns the annotations of the CSV and its OperatorGroup. It omits those about how the CSV was
// installed, since pods would restart whenever they change.
func (in Install) templateAnnotations() map[string]string {
	out := maps.Clone(in.CSV.Annotations)
	maps.DeleteFunc(out, func(key, _ string) bool {
		return strings.HasPrefix(key, "operatorstatus.io/") || key == corev1.LastAppliedConfigAnnotation
	})
	if out == nil {
		out = map[string]string{}
	}
	maps.Copy(out, in.groupAnnotations())
	return out
}

func annotate(template *corev1.PodTemplateSpec, annotations map[string]string) {
	if template.Annotations == nil {
		template.Annotations = map[string]string{}
	}
	maps.Copy(template.Annotations, annotations)
}
