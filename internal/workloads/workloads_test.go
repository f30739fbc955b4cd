package workloads

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/internal/installer"
)

// TestTrim verifies that the cache keeps everything that describes a workload.
func TestTrim(t *testing.T) {
	metadata := metav1.ObjectMeta{
		Namespace: "default", Name: "foo", Generation: 2, Labels: map[string]string{"olm.owner": "foo.v1"},
		Annotations:     map[string]string{"deployment.kubernetes.io/revision": "1", installer.AnnotationRelease: "foo"},
		OwnerReferences: []metav1.OwnerReference{{Kind: "ClusterServiceVersion", Name: "foo.v1"}},
	}
	pod := corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		ServiceAccountName: "foo", InitContainers: []corev1.Container{{Image: "init:1"}},
		Containers: []corev1.Container{{Image: "foo:1", Env: []corev1.EnvVar{{Name: "A", Value: "b"}, {Name: installer.EnvOperatorCondition, Value: "foo"}}}},
	}}
	of := func(change func(*metav1.ObjectMeta)) metav1.ObjectMeta {
		out := *metadata.DeepCopy()
		change(&out)
		return out
	}
	deployment := func(available int32, progressing ...appsv1.DeploymentCondition) *appsv1.Deployment {
		return &appsv1.Deployment{ObjectMeta: metadata, Spec: appsv1.DeploymentSpec{Template: pod}, Status: appsv1.DeploymentStatus{
			AvailableReplicas: available, Conditions: progressing,
		}}
	}
	for name, o := range map[string]client.Object{
		"Available": deployment(1),
		"Begins":    deployment(0, appsv1.DeploymentCondition{Type: appsv1.DeploymentProgressing, Status: "True", Reason: "ReplicaSetUpdated"}),
		"Failed":    deployment(0, appsv1.DeploymentCondition{Type: appsv1.DeploymentProgressing, Status: "False", Reason: "ProgressDeadlineExceeded"}),
		"Ran":       deployment(0, appsv1.DeploymentCondition{Type: appsv1.DeploymentProgressing, Status: "True", Reason: "NewReplicaSetAvailable"}),
		"Controlled": &appsv1.Deployment{ObjectMeta: of(func(m *metav1.ObjectMeta) {
			m.OwnerReferences = []metav1.OwnerReference{{Kind: "Foo", Name: "foo", Controller: new(true)}}
		})},
		"StatefulSet": &appsv1.StatefulSet{ObjectMeta: metadata, Spec: appsv1.StatefulSetSpec{Template: pod}, Status: appsv1.StatefulSetStatus{AvailableReplicas: 1}},
		"DaemonSet":   &appsv1.DaemonSet{ObjectMeta: metadata, Spec: appsv1.DaemonSetSpec{Template: pod}, Status: appsv1.DaemonSetStatus{NumberAvailable: 1}},
		"NoNode": &appsv1.DaemonSet{ObjectMeta: metadata, Spec: appsv1.DaemonSetSpec{Template: pod}, Status: appsv1.DaemonSetStatus{
			ObservedGeneration: 2,
		}},
		"Starting": &appsv1.DaemonSet{ObjectMeta: metadata, Spec: appsv1.DaemonSetSpec{Template: pod}, Status: appsv1.DaemonSetStatus{
			ObservedGeneration: 1, DesiredNumberScheduled: 0,
		}},
		"Unavailable": &appsv1.DaemonSet{ObjectMeta: metadata, Spec: appsv1.DaemonSetSpec{Template: pod}, Status: appsv1.DaemonSetStatus{
			ObservedGeneration: 2, DesiredNumberScheduled: 3,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			want, _ := installer.WorkloadOf(o.DeepCopyObject().(client.Object)) // it is of such a kind
			trimmed, err := trim(o)
			if err != nil {
				t.Fatal(err)
			}
			got, ok := installer.WorkloadOf(trimmed.(client.Object))
			if diff := cmp.Diff(want, got); diff != "" || !ok {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}
