package install

import (
	"maps"
	"slices"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// configure does to a deployment what the Subscription's config asks for. The config wins over the CSV, but for
// annotations. Its containers are configured, its init containers are not, and config.selector selects nothing: so it is
// in OLM.
func configure(deployment *appsv1.Deployment, config *olm.SubscriptionConfig) {
	if config == nil {
		return
	}
	pod := &deployment.Spec.Template.Spec
	setEnv(pod, config.Env)
	pod.Volumes = overlay(pod.Volumes, config.Volumes, func(a, b corev1.Volume) bool { return a.Name == b.Name })
	pod.Tolerations = overlay(pod.Tolerations, config.Tolerations, equal[corev1.Toleration])
	for i := range pod.Containers {
		c := &pod.Containers[i]
		c.EnvFrom = overlay(c.EnvFrom, config.EnvFrom, equal[corev1.EnvFromSource])
		c.VolumeMounts = overlay(c.VolumeMounts, config.VolumeMounts, func(a, b corev1.VolumeMount) bool { return a.Name == b.Name })
		if config.Resources != nil {
			c.Resources = *config.Resources.DeepCopy()
		}
	}
	if config.NodeSelector != nil {
		pod.NodeSelector = config.NodeSelector
	}
	pod.Affinity = affinity(pod.Affinity, config.Affinity)
	deployment.Annotations = under(deployment.Annotations, config.Annotations)
	deployment.Spec.Template.Annotations = under(deployment.Spec.Template.Annotations, config.Annotations)
}

// overlay replaces in have what more has too, and adds the rest. What have does not have is added as often as more has it.
func overlay[T any](have, more []T, same func(a, b T) bool) []T {
	out := slices.Clone(have)
	for _, item := range more {
		if i := slices.IndexFunc(have, func(h T) bool { return same(h, item) }); i >= 0 {
			out[i] = item
		} else {
			out = append(out, item)
		}
	}
	return out
}

func equal[T any](a, b T) bool { return equality.Semantic.DeepEqual(a, b) }

// under is have, with those of more that it does not have.
func under(have, more map[string]string) map[string]string {
	if len(more) == 0 {
		return have
	}
	out := maps.Clone(more)
	maps.Copy(out, have)
	return out
}

// setEnv sets variables in every container. The last of a name wins, in the place of the first.
func setEnv(pod *corev1.PodSpec, env []corev1.EnvVar) {
	for i := range pod.Containers {
		c := &pod.Containers[i]
		var out []corev1.EnvVar
		place := map[string]int{}
		for _, v := range slices.Concat(c.Env, env) {
			if at, ok := place[v.Name]; ok {
				out[at] = v
				continue
			}
			place[v.Name] = len(out)
			out = append(out, v)
		}
		c.Env = out
	}
}

// affinity is have, with what config says in place of the same part. A part that config has empty is taken away, and so
// is all of it where config is empty.
func affinity(have, config *corev1.Affinity) *corev1.Affinity {
	if config == nil {
		return have
	}
	out := have.DeepCopy()
	if out == nil || *out == (corev1.Affinity{}) || *config == (corev1.Affinity{}) {
		return unlessEmpty(config)
	}
	if config.NodeAffinity != nil {
		out.NodeAffinity = unlessEmpty(config.NodeAffinity)
	}
	if config.PodAffinity != nil {
		out.PodAffinity = unlessEmpty(config.PodAffinity)
	}
	if config.PodAntiAffinity != nil {
		out.PodAntiAffinity = unlessEmpty(config.PodAntiAffinity)
	}
	return unlessEmpty(out)
}

func unlessEmpty[T any](v *T) *T {
	var empty T
	if equality.Semantic.DeepEqual(*v, empty) {
		return nil
	}
	return v
}
