package install

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/labels"
)

// pods edits the pod template of the CSV's Deployment.
func withPodTemplate(edit func(*corev1.PodTemplateSpec)) change {
	return func(in *Install) { edit(&in.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Spec.Template) }
}

func withConfig(config olm.SubscriptionConfig) change {
	return func(in *Install) { in.Config = &config }
}

func TestDeploymentMetadata(t *testing.T) {
	in := plain(t, withTargets("b", "a"), func(in *Install) {
		in.CSV.Annotations = map[string]string{
			"alm-examples": "[]", "olm.targetNamespaces": "old", "who": "csv",
			"operatorstatus.io/install-plan":                   "install-abc",
			"kubectl.kubernetes.io/last-applied-configuration": "{}",
		}
		in.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Label = labels.Set{"mine": "yes", "olm.owner": "me"}
	}, withPodTemplate(func(p *corev1.PodTemplateSpec) {
		p.Annotations = map[string]string{"who": "template", "its": "own"}
	}), withConfig(olm.SubscriptionConfig{Annotations: map[string]string{"who": "config", "added": "yes"}}))
	d := found[*appsv1.Deployment](t, rendered(t, in), "foo-manager")

	annotations := map[string]string{
		"alm-examples": "[]", "who": "csv", "its": "own", "added": "yes",
		"olm.operatorGroup": "group", "olm.operatorNamespace": "operators", "olm.targetNamespaces": "a,b",
	}
	if diff := cmp.Diff(annotations, d.Spec.Template.Annotations); diff != "" {
		t.Errorf("annotations of pods, of which the CSV's override the template's, and both override the config's: -want, +got:\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"who": "config", "added": "yes"}, d.Annotations); diff != "" {
		t.Errorf("annotations of the Deployment, which are the config's: -want, +got:\n%s", diff)
	}
	own := map[string]string{
		"mine": "yes", "olm.managed": "true",
		"olm.owner": "foo.v1", "olm.owner.namespace": "operators", "olm.owner.kind": "ClusterServiceVersion",
	}
	if diff := cmp.Diff(own, d.Labels); diff != "" {
		t.Errorf("labels, of which those of the CSV must not change the owner: -want, +got:\n%s", diff)
	}
	if n := d.Spec.RevisionHistoryLimit; n == nil || *n != 1 {
		t.Errorf("revisionHistoryLimit is %v, want 1", n)
	}
}

func TestDeploymentConfig(t *testing.T) {
	name := corev1.EnvVar{Name: "OPERATOR_CONDITION_NAME", Value: "foo.v1"}
	small := corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}}
	anti := &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: "zone"}}}
	node := &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{Weight: 1}}}
	cases := map[string]struct {
		reason string
		before func(*corev1.PodSpec)
		config olm.SubscriptionConfig
		want   func(*corev1.PodSpec)
	}{
		"none": {
			reason: "Each container gets the name of the OperatorCondition in its environment, and init containers do not.",
			before: func(p *corev1.PodSpec) { p.InitContainers = []corev1.Container{{Name: "init"}} },
			want: func(p *corev1.PodSpec) {
				p.InitContainers = []corev1.Container{{Name: "init"}}
				p.Containers[0].Env = []corev1.EnvVar{name}
			},
		},
		"env": {
			reason: "Variables of the config override those of the CSV in place, and neither overrides the OperatorCondition's name.",
			before: func(p *corev1.PodSpec) {
				p.Containers[0].Env = []corev1.EnvVar{{Name: "A", Value: "csv"}, {Name: "B", Value: "csv"}, {Name: "B", Value: "twice"}}
			},
			config: olm.SubscriptionConfig{Env: []corev1.EnvVar{{Name: name.Name, Value: "lie"}, {Name: "C", Value: "config"}, {Name: "A", Value: "config"}}},
			want: func(p *corev1.PodSpec) {
				p.Containers[0].Env = []corev1.EnvVar{{Name: "A", Value: "config"}, {Name: "B", Value: "twice"}, name, {Name: "C", Value: "config"}}
			},
		},
		"volumes and mounts": {
			reason: "Volumes and mounts of the same name are replaced, others are added, and a new volume may be mounted twice.",
			before: func(p *corev1.PodSpec) {
				p.Volumes = []corev1.Volume{{Name: "a"}}
				p.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "a", MountPath: "/csv"}}
			},
			config: olm.SubscriptionConfig{
				Volumes:      []corev1.Volume{{Name: "a", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}, {Name: "b"}},
				VolumeMounts: []corev1.VolumeMount{{Name: "a", MountPath: "/config"}, {Name: "b", MountPath: "/1"}, {Name: "b", MountPath: "/2"}},
			},
			want: func(p *corev1.PodSpec) {
				p.Volumes = []corev1.Volume{{Name: "a", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}, {Name: "b"}}
				p.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "a", MountPath: "/config"}, {Name: "b", MountPath: "/1"}, {Name: "b", MountPath: "/2"}}
				p.Containers[0].Env = []corev1.EnvVar{name}
			},
		},
		"replaced whole": {
			reason: "Resources and the node selector are replaced; tolerations and envFrom are added without duplicates.",
			before: func(p *corev1.PodSpec) {
				p.NodeSelector = map[string]string{"csv": "yes"}
				p.Tolerations = []corev1.Toleration{{Key: "a"}}
				p.Containers[0].Resources = corev1.ResourceRequirements{Requests: small.Limits}
			},
			config: olm.SubscriptionConfig{
				NodeSelector: map[string]string{"config": "yes"},
				Tolerations:  []corev1.Toleration{{Key: "a"}, {Key: "b"}},
				Resources:    &small,
				EnvFrom:      []corev1.EnvFromSource{{Prefix: "X"}},
			},
			want: func(p *corev1.PodSpec) {
				p.NodeSelector = map[string]string{"config": "yes"}
				p.Tolerations = []corev1.Toleration{{Key: "a"}, {Key: "b"}}
				p.Containers[0].Resources = small
				p.Containers[0].EnvFrom = []corev1.EnvFromSource{{Prefix: "X"}}
				p.Containers[0].Env = []corev1.EnvVar{name}
			},
		},
		"part of the affinity": {
			reason: "A part of the affinity is kept if the config does not have it, and removed if the config has it empty.",
			before: func(p *corev1.PodSpec) { p.Affinity = &corev1.Affinity{NodeAffinity: node, PodAntiAffinity: anti} },
			config: olm.SubscriptionConfig{Affinity: &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{}}},
			want: func(p *corev1.PodSpec) {
				p.Affinity = &corev1.Affinity{NodeAffinity: node}
				p.Containers[0].Env = []corev1.EnvVar{name}
			},
		},
		"empty affinity": {
			reason: "An empty affinity in the config removes the affinity.",
			before: func(p *corev1.PodSpec) { p.Affinity = &corev1.Affinity{NodeAffinity: node} },
			config: olm.SubscriptionConfig{Affinity: &corev1.Affinity{}},
			want:   func(p *corev1.PodSpec) { p.Containers[0].Env = []corev1.EnvVar{name} },
		},
		"new affinity": {
			reason: "The affinity of the config is used if the CSV has none.",
			config: olm.SubscriptionConfig{Affinity: &corev1.Affinity{NodeAffinity: node}},
			want: func(p *corev1.PodSpec) {
				p.Affinity = &corev1.Affinity{NodeAffinity: node}
				p.Containers[0].Env = []corev1.EnvVar{name}
			},
		},
	}
	for label, tc := range cases {
		t.Run(label, func(t *testing.T) {
			in := plain(t, withConfig(tc.config), withPodTemplate(func(p *corev1.PodTemplateSpec) {
				if tc.before != nil {
					tc.before(&p.Spec)
				}
			}))
			want := fooCSV().Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Spec.Template.Spec
			tc.want(&want)
			got := found[*appsv1.Deployment](t, rendered(t, in), "foo-manager").Spec.Template.Spec
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
