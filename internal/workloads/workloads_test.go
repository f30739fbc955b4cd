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
	rollout := func(observed int64, replicas, updated int32) *appsv1.Deployment {
		out := deployment(1)
		out.Status.ObservedGeneration, out.Status.Replicas, out.Status.UpdatedReplicas = observed, replicas, updated
		return out
	}
	statefulSet := func(observed int64, updated int32, current, update string, strategy appsv1.StatefulSetUpdateStrategy) *appsv1.StatefulSet {
		return &appsv1.StatefulSet{
			ObjectMeta: metadata, Spec: appsv1.StatefulSetSpec{Template: pod, UpdateStrategy: strategy},
			Status: appsv1.StatefulSetStatus{
				ObservedGeneration: observed, Replicas: 2, UpdatedReplicas: updated, AvailableReplicas: 1, CurrentRevision: current, UpdateRevision: update,
			},
		}
	}
	daemonSet := func(observed int64, updated int32, strategy appsv1.DaemonSetUpdateStrategyType) *appsv1.DaemonSet {
		return &appsv1.DaemonSet{
			ObjectMeta: metadata, Spec: appsv1.DaemonSetSpec{Template: pod, UpdateStrategy: appsv1.DaemonSetUpdateStrategy{Type: strategy}},
			Status: appsv1.DaemonSetStatus{
				ObservedGeneration: observed, DesiredNumberScheduled: 3, CurrentNumberScheduled: 3, UpdatedNumberScheduled: updated, NumberAvailable: 1,
			},
		}
	}
	partition := appsv1.StatefulSetUpdateStrategy{RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: new(int32(1))}}
	onDelete := appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType}
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
		"RolledOut":            rollout(2, 1, 1),
		"Outdated":             rollout(2, 2, 1),
		"Unseen":               rollout(1, 1, 1),
		"StatefulSetRolledOut": statefulSet(2, 2, "1", "2", appsv1.StatefulSetUpdateStrategy{}),
		"StatefulSetOutdated":  statefulSet(2, 1, "1", "2", appsv1.StatefulSetUpdateStrategy{}),
		"StatefulSetReverted":  statefulSet(2, 0, "1", "1", appsv1.StatefulSetUpdateStrategy{}),
		"StatefulSetUnseen":    statefulSet(1, 2, "1", "2", appsv1.StatefulSetUpdateStrategy{}),
		"StatefulSetPartition": statefulSet(2, 1, "1", "2", partition),
		"StatefulSetOnDelete":  statefulSet(2, 1, "1", "2", onDelete),
		"DaemonSetRolledOut":   daemonSet(2, 3, ""),
		"DaemonSetOutdated":    daemonSet(2, 1, ""),
		"DaemonSetUnseen":      daemonSet(1, 3, ""),
		"DaemonSetOnDelete":    daemonSet(2, 1, appsv1.OnDeleteDaemonSetStrategyType),
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
