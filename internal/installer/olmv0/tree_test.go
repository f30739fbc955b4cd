package olmv0

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	platformv1alpha1 "github.com/operator-status/operator-status/api/platform/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer"
	"github.com/operator-status/operator-status/internal/operator"
	"github.com/operator-status/operator-status/internal/test/golden"
)

// lines returns a tree as lines that are indented by a dot for each level.
func lines(n operator.Node) []string {
	out := []string{strings.TrimRight(n.Name+" | "+n.State+" | "+n.Message, " |")}
	for _, child := range n.Children {
		for _, line := range lines(child) {
			out = append(out, ". "+line)
		}
	}
	return out
}

func withDeployments(deployments []appsv1.Deployment) installer.Cluster {
	var out installer.Cluster
	for i := range deployments {
		out.Objects = append(out.Objects, &deployments[i])
	}
	return out
}

func deployment(name, owner string, available int32) appsv1.Deployment {
	out := appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"olm.owner": owner}}}
	out.Status.Replicas, out.Status.UpdatedReplicas, out.Status.AvailableReplicas = 1, 1, available
	if available == 0 {
		out.Status.Conditions = []appsv1.DeploymentCondition{{
			Type: appsv1.DeploymentAvailable, Status: corev1.ConditionFalse, Message: "Deployment does not have minimum availability.",
		}}
	}
	return out
}

// notUpgradeable returns a Probe that many custom resources block, of which some are only counted.
func notUpgradeable() v1alpha1.Probe {
	out := probe("")
	out.Status.Conditions = append(out.Status.Conditions, metav1.Condition{
		Type: v1alpha1.ConditionUpgradeable, Status: metav1.ConditionFalse, Message: "Waiting for Foo apps/example: Migrating is True",
	})
	out.Status.ProbeResources[1].Reasons = []string{"Migrating=True"}
	out.Status.ProbeResources = append(out.Status.ProbeResources, v1alpha1.ProbeResourceStatus{Kind: "Foo", Name: "important"})
	out.Status.Summary = &v1alpha1.ProbeSummary{Total: 10, NotUpgradeable: 4}
	return out
}

func TestTree(t *testing.T) {
	updating := deployment("foo", "foo.v2", 1)
	updating.Status.Replicas = 2
	composed := platformv1alpha1.PlatformOperator{ObjectMeta: metav1.ObjectMeta{Name: "foos"}}
	composed.Status.Conditions = []metav1.Condition{{Type: platformv1alpha1.ConditionReady, Status: metav1.ConditionFalse, Message: "ConfigMap is not ready"}}
	composed.Status.Resources = []platformv1alpha1.ResourceStatus{
		{Name: "namespace", Reference: corev1.ObjectReference{Kind: "Namespace", Name: "default"}, Ready: true},
		{Name: "settings", Reference: corev1.ObjectReference{Kind: "ConfigMap", Namespace: "default", Name: "settings"}, Reason: "Forbidden", Message: "may not"},
		{Name: "subscription", Reference: corev1.ObjectReference{Kind: v1alpha1.SubscriptionKind, Namespace: "default", Name: "foo"}},
	}
	override := operatorsv2.OperatorCondition{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "foo.v1"}}
	override.Spec.Overrides = []metav1.Condition{{Type: operatorsv2.Upgradeable, Status: metav1.ConditionFalse, Message: "audit"}}
	cases := map[string]struct {
		reason      string
		in          Cluster
		deployments []appsv1.Deployment
		want        []string
	}{
		"Well": {
			reason: "What is well is counted.",
			in: Cluster{
				Subscriptions: []v1alpha1.Subscription{sub("foo.v1", "foo.v1")}, CatalogSources: []olm.CatalogSource{catalog()},
				ClusterServiceVersions: []v1alpha1.ClusterServiceVersion{csv("foo.v1", "", olm.CSVPhaseSucceeded)},
				InstallPlans:           []olm.InstallPlan{plan(olm.InstallPlanPhaseComplete, "foo.v1")},
			},
			deployments: []appsv1.Deployment{deployment("foo", "foo.v1", 1), deployment("webhook", "foo.v1", 1), deployment("other", "bar.v1", 1)},
			want: []string{
				"Subscription default/foo | UpToDate=True",
				". InstallPlan default/install-1 | Complete",
				". ClusterServiceVersion default/foo.v1 | Succeeded",
				". . 2 Deployments | Available",
			},
		},
		"Held": {
			reason: "What is not well is named, with why.",
			in: Cluster{
				PlatformOperators: []platformv1alpha1.PlatformOperator{composed},
				Subscriptions:     []v1alpha1.Subscription{manual(sub("foo.v1", "foo.v2"))}, CatalogSources: []olm.CatalogSource{catalog()},
				ClusterServiceVersions: []v1alpha1.ClusterServiceVersion{csv("foo.v1", "", olm.CSVPhaseSucceeded)},
				InstallPlans:           []olm.InstallPlan{plan(olm.InstallPlanPhaseRequiresApproval, "foo.v2")},
				Probes:                 []v1alpha1.Probe{notUpgradeable()}, OperatorConditions: []operatorsv2.OperatorCondition{override},
			},
			deployments: []appsv1.Deployment{deployment("foo", "foo.v1", 0)},
			want: []string{
				"PlatformOperator foos | Ready=False | ConfigMap is not ready",
				". ConfigMap default/settings | Forbidden | may not",
				". 1 composed object | Ready",
				". Subscription default/foo | Held | InstallPlan default/install-1, which installs foo.v2, is waiting for a user to approve it",
				". . InstallPlan default/install-1 | RequiresApproval | installs foo.v2",
				". . ClusterServiceVersion default/foo.v1 | Succeeded",
				". . . Deployment default/foo | 0/1 | Deployment does not have minimum availability.",
				". . . OperatorCondition default/foo.v1 | Upgradeable=False | audit",
				". . . Probe default/foo.v1 | Upgradeable=False | Waiting for Foo apps/example: Migrating is True",
				". . . . 2 Foos | Blocking",
				". . . . Foo apps/example | Blocking | Migrating=True",
				". . . . 1 more custom resource | Blocking",
				". . . . 6 custom resources | Not blocking",
			},
		},
		"Updating": {
			reason: "A Deployment is not available in the new version because the old one is.",
			in: Cluster{
				Subscriptions: []v1alpha1.Subscription{sub("foo.v2", "foo.v2")}, CatalogSources: []olm.CatalogSource{catalog()},
				ClusterServiceVersions: []v1alpha1.ClusterServiceVersion{csv("foo.v2", "", olm.CSVPhaseInstalling)},
			},
			deployments: []appsv1.Deployment{updating},
			want: []string{
				"Subscription default/foo | UpToDate=False",
				". ClusterServiceVersion default/foo.v2 | Installing",
				". . Deployment default/foo | Updating | 1 of 1 pods are of the new version, and 1 of an older one",
			},
		},
		"Unsubscribed": {
			reason: "Without a Subscription, the ClusterServiceVersion is the root.",
			in:     Cluster{ClusterServiceVersions: []v1alpha1.ClusterServiceVersion{csv("foo.v1", "", olm.CSVPhaseFailed)}},
			want:   []string{"ClusterServiceVersion default/foo.v1 | Failed | Deployment foo is not available"},
		},
		"NotInstalled": {
			reason: "A Subscription of which nothing is installed is all there is.",
			in:     Cluster{Subscriptions: []v1alpha1.Subscription{sub("", "")}},
			want:   []string{"Subscription default/foo | Broken | CatalogSource olm/catalog not found: create it, or correct spec.source and spec.sourceNamespace"},
		},
	}
	goldens := golden.Open(t)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			goldens.Check(t, name, descriptionOf(tc.reason, tc.in, tc.deployments...))
			if diff := cmp.Diff(tc.want, lines(Trees(tc.in, withDeployments(tc.deployments))(Operators(tc.in)[0]))); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
		})
	}
}

// TestTreeOfOthers verifies that the tree of an operator that OLM did not install is left to others, also in a namespace where OLM has nothing.
func TestTreeOfOthers(t *testing.T) {
	op := operator.Operator{Namespace: "foo", Name: "foo", Installer: "Helm"}
	if out, ok := (Installer{}).Trees(installer.Cluster{})(op); ok {
		t.Errorf("got %+v", out)
	}
}
