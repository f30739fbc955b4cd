package installers

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	"github.com/operator-framework/operator-lib/conditions"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/config"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer"
	"github.com/operator-status/operator-status/internal/test/catalogtest"
	"github.com/operator-status/operator-status/internal/test/neighbour"
	"github.com/operator-status/operator-status/internal/test/story"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// installConditions installs config/operatorconditions, and waits until the API server names the OperatorCondition to new Deployments.
func installConditions(t *testing.T) {
	t.Helper()
	cluster.InstallOLM(t) // for the CustomResourceDefinition
	manifests, err := testcluster.Manifests("operatorconditions")
	if err != nil {
		t.Fatal(err)
	}
	cluster.Apply(t, "", string(manifests))
	namespace := cluster.Namespace(t, "named")
	t.Cleanup(func() { cluster.Delete(t, string(manifests), namespace) })
	marked := workloadOf("Deployment", namespace, "marked").(*appsv1.Deployment)
	marked.Labels = map[string]string{"olm.operatorframework.io/owner-kind": "ClusterExtension", "olm.operatorframework.io/owner-name": "foo"}
	marked.Spec.Template.Spec.Containers = append(marked.Spec.Template.Spec.Containers, corev1.Container{
		Name: "second", Image: "example.com/second", Env: []corev1.EnvVar{{Name: installer.EnvOperatorCondition, Value: "mine"}, {Name: "A", Value: "b"}},
	})
	cluster.Await(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, func() string {
		created := marked.DeepCopy()
		if err := plain().Create(t.Context(), created); err != nil {
			return err.Error()
		}
		var got []string
		for _, c := range created.Spec.Template.Spec.Containers {
			for _, e := range c.Env {
				got = append(got, c.Name+" "+e.Name+"="+e.Value)
			}
		}
		return cmp.Diff([]string{"manager OPERATOR_CONDITION_NAME=foo", "second OPERATOR_CONDITION_NAME=mine", "second A=b"}, got)
	})
}

// checkCondition verifies that an operator that was written for OLM v0, and reports itself with operator-lib, holds its updates if OLM v1
// installs it, without a change of its bundle.
func checkCondition(t *testing.T, registry *catalogtest.Registry) {
	t.Helper()
	o := story.New(t, cluster, kubeconfig, "conditioned")
	e := &extended{neighbour.Extend(t, cluster, registry, o)}
	o.AwaitImage(t, story.First)
	oc := &operatorsv2.OperatorCondition{ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name}}
	awaitCreated := func() {
		t.Helper()
		cluster.Await(t, oc, func() string {
			return cmp.Diff(operatorsv2.OperatorConditionSpec{ServiceAccounts: []string{o.Name}}, oc.Spec)
		})
	}
	awaitCreated()
	hold := &holdv1alpha1.UpgradeHold{ObjectMeta: metav1.ObjectMeta{Name: e.Reference(o).HoldName()}}
	account := cluster.Kubeconfig(t, types.NamespacedName{Namespace: o.Namespace, Name: o.Name})
	report := func(status metav1.ConditionStatus, message string) {
		t.Helper()
		cluster.Await(t, oc, func() string { return reportAs(t, account, o, status, message) }) // the authorizer learns of the Role by watching
	}

	report(metav1.ConditionFalse, "restoring a backup")
	cluster.Await(t, hold, func() string {
		return testcluster.Lacking(hold.Status.Conditions, "Held=True/OperatorConditionNotUpgradeable", "Enforced=True/PolicyBound")
	})
	e.Install(t, o, story.Second)
	cluster.Await(t, e.extension, func() string {
		if reported := e.Report(t, o); !strings.Contains(reported, "is held: ") || !strings.Contains(reported, "restoring a backup") {
			return "the ClusterExtension reports " + reported
		}
		return ""
	})
	o.AwaitImage(t, story.First)

	if err := cluster.Client.Delete(context.Background(), oc); err != nil {
		t.Fatal(err)
	}
	awaitCreated()
	o.AwaitImage(t, story.Second)
	report(metav1.ConditionFalse, "restoring another backup")
	cluster.Await(t, hold, func() string {
		return testcluster.Lacking(hold.Status.Conditions, "Held=True/OperatorConditionNotUpgradeable")
	})
	report(metav1.ConditionTrue, "")
	cluster.AwaitGone(t, hold)
	if variables := conditionOf(t, o); !slices.Equal(variables, []string{o.Name}) {
		t.Errorf("after the update, the Deployment names the OperatorConditions %v", variables)
	}
}

// conditionOf returns the OperatorConditions that the Deployment of an operator names.
func conditionOf(t *testing.T, o story.Op) []string {
	t.Helper()
	d := &appsv1.Deployment{}
	if err := cluster.Client.Get(t.Context(), types.NamespacedName{Namespace: o.Namespace, Name: o.Name}, d); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, c := range d.Spec.Template.Spec.Containers {
		for _, e := range c.Env {
			if e.Name == installer.EnvOperatorCondition {
				out = append(out, e.Value)
			}
		}
	}
	return out
}

// Variables of the process that reports for an operator.
const (
	envReport  = "REPORT_UPGRADEABLE"
	envMessage = "REPORT_MESSAGE"
)

// reportAs runs a process that reports with operator-lib, and returns its error. The process sees the files of a pod, since operator-lib reads
// the namespace there.
func reportAs(t *testing.T, account string, o story.Op, status metav1.ConditionStatus, message string) string {
	t.Helper()
	const script = `run=$(readlink -f /var/run) && mount -t tmpfs none "$run" && mkdir -p "$run/secrets/kubernetes.io/serviceaccount" &&
printf %s "$1" > "$run/secrets/kubernetes.io/serviceaccount/namespace" && exec "$0"`
	cmd := exec.CommandContext(t.Context(), "unshare", "--map-root-user", "--mount", "sh", "-c", script, os.Args[0], o.Namespace)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+account, envReport+"="+string(status), envMessage+"="+message)
	cmd.Env = append(cmd.Env, installer.EnvOperatorCondition+"="+strings.Join(conditionOf(t, o), ","))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Sprintf("%v\n%s", err, out)
	}
	return ""
}

// report sets Upgradeable as an operator does.
func report(status metav1.ConditionStatus) error {
	scheme := runtime.NewScheme()
	if err := operatorsv2.AddToScheme(scheme); err != nil {
		return err
	}
	loaded, err := config.GetConfig()
	if err != nil {
		return err
	}
	c, err := client.New(loaded, client.Options{Scheme: scheme})
	if err != nil {
		return err
	}
	upgradeable, err := conditions.InClusterFactory{Client: c}.NewCondition(operatorsv2.ConditionType(operatorsv2.Upgradeable))
	if err != nil {
		return err
	}
	return upgradeable.Set(context.Background(), status, conditions.WithReason("Restoring"), conditions.WithMessage(os.Getenv(envMessage)))
}

// TestConditionPolicy verifies which rights the manager can give because of an OperatorCondition.
func TestConditionPolicy(t *testing.T) {
	namespace := cluster.Namespace(t, "granting")
	yes := true
	own := metav1.ObjectMeta{Namespace: namespace, Name: "foo", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "operators.coreos.com/v2", Kind: "OperatorCondition", Name: "foo", UID: "1", Controller: &yes},
	}}
	role := func(name, resource string) *rbacv1.Role {
		return &rbacv1.Role{ObjectMeta: own, Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{"operators.coreos.com"}, Resources: []string{resource}, ResourceNames: []string{name}, Verbs: []string{"update"},
		}}}
	}
	deployment := workloadOf("Deployment", namespace, "foo")
	deployment.SetOwnerReferences(own.OwnerReferences)
	cluster.Await(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, func() string { // the API server learns of policies by watching
		if err := as(manager).Create(t.Context(), deployment.DeepCopyObject().(client.Object)); err != nil {
			return ""
		}
		return "nothing is denied"
	})
	for name, tc := range map[string]struct {
		reason string
		object client.Object
		want   string
	}{
		"Own":        {"An operator may write its OperatorCondition.", role("foo", "operatorconditions"), ""},
		"Other":      {"It may not write that of another.", role("bar", "operatorconditions"), "lets an operator write its own OperatorCondition only"},
		"Kind":       {"Nor another object.", role("foo", "probes"), "lets an operator write its own OperatorCondition only"},
		"Deployment": {"An OperatorCondition has no workloads.", deployment, "writes only Deployments, Roles and RoleBindings of a Probe"},
		"Binding": {
			"The Role is bound.", &rbacv1.RoleBinding{ObjectMeta: own, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "foo"}}, "",
		},
		"ClusterRole": {
			"No other role is.", &rbacv1.RoleBinding{ObjectMeta: own, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "foo"}},
			"lets an operator write its own OperatorCondition only",
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := as(manager).Create(t.Context(), tc.object)
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("%s got %v", tc.reason, err)
			}
		})
	}
}
