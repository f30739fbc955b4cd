package install

import (
	"maps"
	"slices"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// configure applies the Subscription's config to a Deployment. The config takes precedence over the CSV, except for
// annotations. As in OLM, init containers are not configured and config.selector is ignored.
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

// overlay returns have with items replaced by their counterparts in more, and the other items of more appended.
// Duplicates within more are all appended.
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

// under merges two maps; have takes precedence.
func under(have, more map[string]string) map[string]string {
	if len(more) == 0 {
		return have
	}
	out := maps.Clone(more)
	maps.Copy(out, have)
	return out
}

// setEnv sets variables in every container. The last value of a name wins, at the position of the first.
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

// affinity merges the config into have: each part that is set in config replaces that part. An empty part in config
// removes the part, and an empty config removes everything.
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
