package installer

import (
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestOfCSV verifies that the label of OLM alone, which users may set, does not make a workload one of a ClusterServiceVersion.
func TestOfCSV(t *testing.T) {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"olm.owner": "foo.v1"}}}
	if w, _ := WorkloadOf(d); w.OfCSV {
		t.Error("a label makes it one")
	}
	d.OwnerReferences = []metav1.OwnerReference{{Kind: "ClusterServiceVersion", Name: "foo.v1"}}
	if w, _ := WorkloadOf(d); !w.OfCSV {
		t.Error("it belongs to its ClusterServiceVersion")
	}
}

// TestConditionsOf verifies which OperatorConditions workloads name in the environment of a container.
func TestConditionsOf(t *testing.T) {
	named := func(name string, containers ...corev1.Container) *appsv1.Deployment {
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
		d.Spec.Template.Spec.Containers = containers
		return d
	}
	with := func(variable, value string) corev1.Container {
		return corev1.Container{Env: []corev1.EnvVar{{Name: "OTHER", Value: "other"}, {Name: variable, Value: value}}}
	}
	var workloads []Workload
	for _, d := range []*appsv1.Deployment{
		named("none", with("OPERATOR_NAME", "none")), named("first", corev1.Container{}, with("OPERATOR_CONDITION_NAME", "foo")),
		named("same", with("OPERATOR_CONDITION_NAME", "foo")), named("by-reference", with("OPERATOR_CONDITION_NAME", "")),
		named("two", with("OPERATOR_CONDITION_NAME", "bar"), with("OPERATOR_CONDITION_NAME", "ignored")),
	} {
		w, _ := WorkloadOf(d)
		workloads = append(workloads, w)
	}
	want := []types.NamespacedName{{Namespace: "default", Name: "foo"}, {Namespace: "default", Name: "bar"}}
	if diff := cmp.Diff(want, ConditionsOf(workloads)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestVersion(t *testing.T) {
	for image, want := range map[string]string{
		"example.com:5000/foo:v1@sha256:0": "v1", "example.com:5000/foo": "", "foo": "", "foo@sha256:0": "", "foo:1.2": "1.2",
	} {
		if got := (Workload{Images: []string{image}}).Version(); got != want {
			t.Errorf("the version of %s is %q, want %q", image, got, want)
		}
	}
	labelled := Workload{Images: []string{"foo:1"}, Labels: map[string]string{"app.kubernetes.io/version": "2"}}
	if got := labelled.Version(); got != "2" {
		t.Errorf("the version is %q, want that of the label", got)
	}
}

// TestBegins verifies which Deployments have never run: their first version may be corrected while it is held.
func TestBegins(t *testing.T) {
	cases := map[string]struct {
		reason, revision, progressing string
		available                     int32
		want, ran                     bool
	}{
		"New":      {"A first version that cannot start has not run.", "1", "ReplicaSetUpdated", 0, true, false},
		"Late":     {"Nor has one that exceeds its deadline.", "1", "ProgressDeadlineExceeded", 0, true, false},
		"Runs":     {"One that is available runs.", "1", "ReplicaSetUpdated", 1, false, true},
		"Ran":      {"One that was rolled out has run, also if it is scaled to no pods since.", "1", "NewReplicaSetAvailable", 0, false, true},
		"Updating": {"An update usually comes after a version that ran, or one that could not start was corrected.", "2", "ReplicaSetUpdated", 0, false, false},
		"Unknown":  {"Without a deadline it is not known.", "1", "", 0, false, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"deployment.kubernetes.io/revision": tc.revision}}}
			d.Status.AvailableReplicas = tc.available
			if tc.progressing != "" {
				d.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, Reason: tc.progressing}}
			}
			if w, _ := WorkloadOf(d); w.Begins != tc.want || w.Ran != tc.ran {
				t.Errorf("%s\nit begins: %t, it ran: %t", tc.reason, w.Begins, w.Ran)
			}
		})
	}
}

// TestOutdated verifies which workloads may have pods of an older version than the declared one, whether or not they run.
func TestOutdated(t *testing.T) {
	paused := func(d *appsv1.Deployment) *appsv1.Deployment {
		d.Spec.Paused = true
		return d
	}
	unseen := deployment(1, 1, 1)
	unseen.Generation++
	statefulSet := func(updated int32, s appsv1.StatefulSetUpdateStrategy) *appsv1.StatefulSet {
		return &appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{UpdateStrategy: s}, Status: appsv1.StatefulSetStatus{
			Replicas: 2, UpdatedReplicas: updated, AvailableReplicas: 1, CurrentRevision: "1", UpdateRevision: "2",
		}}
	}
	reverted := statefulSet(0, appsv1.StatefulSetUpdateStrategy{})
	reverted.Status.UpdateRevision = "1"
	daemonSet := func(desired, current, updated int32, strategy appsv1.DaemonSetUpdateStrategyType) *appsv1.DaemonSet {
		return &appsv1.DaemonSet{
			Spec: appsv1.DaemonSetSpec{UpdateStrategy: appsv1.DaemonSetUpdateStrategy{Type: strategy}},
			Status: appsv1.DaemonSetStatus{
				DesiredNumberScheduled: desired, CurrentNumberScheduled: current, UpdatedNumberScheduled: updated, NumberAvailable: min(current, 1),
			},
		}
	}
	cases := map[string]struct {
		reason string
		object Object
		want   bool
	}{
		"RolledOut":     {"All pods are of the declared version.", deployment(1, 1, 1), false},
		"Crashes":       {"The pod of the old version stays until the new one is available.", deployment(1, 2, 1), true},
		"NotCreated":    {"So it does if a quota has no room for the new one.", deployment(1, 1, 0), true},
		"Unseen":        {"Its controller has not acted on a change.", unseen, true},
		"Lost":          {"A pod that is created again, or an autoscaler adds, is of the declared version.", deployment(3, 2, 2), false},
		"ScaledToZero":  {"Without pods, none is of an older version.", deployment(0, 0, 0), false},
		"ScalingToZero": {"The last pod has not ended.", deployment(0, 1, 0), true},
		"Paused":        {"To pause it changes no pod.", paused(deployment(1, 1, 1)), false},
		"PausedBefore":  {"A new version does not reach the pods of a paused one.", paused(deployment(1, 1, 0)), true},
		"StatefulSet":   {"The new version crashes, and replaces no other pod.", statefulSet(1, appsv1.StatefulSetUpdateStrategy{}), true},
		"Replaced":      {"All pods are replaced, although the last one may not be ready.", statefulSet(2, appsv1.StatefulSetUpdateStrategy{}), false},
		"Reverted":      {"Without another revision, the number of updated pods has no meaning.", reverted, false},
		"OnDelete": {
			"A user wants to keep the old pods.", statefulSet(0, appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType}), false,
		},
		"DaemonSet":         {"The new version crashes on a node, and reaches no other one.", daemonSet(3, 3, 1, ""), true},
		"Node":              {"The pod of a new node is of the declared version.", daemonSet(3, 2, 2, ""), false},
		"NoNode":            {"It is for no node.", daemonSet(0, 0, 0, ""), false},
		"DaemonSetOnDelete": {"A user wants to keep the old pods.", daemonSet(3, 3, 0, appsv1.OnDeleteDaemonSetStrategyType), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if w, _ := WorkloadOf(tc.object); w.Outdated != tc.want {
				t.Errorf("%s\nit is outdated: %t", tc.reason, w.Outdated)
			}
		})
	}
}

// TestAccountsOf verifies that a tenant cannot have the API server asked about thousands of service accounts.
func TestAccountsOf(t *testing.T) {
	workloads := []Workload{{ServiceAccount: "b"}, {ServiceAccount: "a"}, {ServiceAccount: "b"}}
	if diff := cmp.Diff([]string{"b", "a"}, AccountsOf(workloads)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	for i := range 1000 {
		workloads = append(workloads, Workload{ServiceAccount: strconv.Itoa(i)})
	}
	if got := AccountsOf(workloads); len(got) != mostAccounts || got[0] != "b" {
		t.Errorf("of many, these are asked about: %v", got)
	}
}
