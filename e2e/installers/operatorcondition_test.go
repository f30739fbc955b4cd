package installers

import (
	"context"
	"strings"
	"testing"

	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/story"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// TestOperatorCondition verifies that an operator that sets Upgradeable in its OperatorCondition, as it does with OLM, holds its updates
// without OLM, also while no manager runs, and that a user can override it there.
func TestOperatorCondition(t *testing.T) {
	cluster.InstallOLM(t)
	manager := cluster.StartManager(t)
	o := story.New(t, cluster, kubeconfig, "reporting")
	cluster.Apply(t, o.Namespace, o.Manifests(story.First))
	o.AwaitImage(t, story.First)
	deployment := workloadOf("Deployment", o.Namespace, o.Name)
	environment := `{"spec":{"template":{"spec":{"containers":[{"name":"manager","env":[{"name":"OPERATOR_CONDITION_NAME","value":"reporting-condition"}]}]}}}}`
	if err := cluster.Client.Patch(t.Context(), deployment, client.RawPatch(types.StrategicMergePatchType, []byte(environment))); err != nil {
		t.Fatal(err)
	}
	condition := &operatorsv2.OperatorCondition{ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: "reporting-condition"}}
	other := &operatorsv2.OperatorCondition{ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name}}
	other.Spec.Conditions = []metav1.Condition{upgradeable(metav1.ConditionFalse, "not of this operator")}
	cluster.Create(t, other)
	cluster.Create(t, condition)
	foreign := cluster.Namespace(t, "foreign")
	forged := workloadOf("Deployment", foreign, "forged")
	forged.SetAnnotations(map[string]string{"meta.helm.sh/release-name": "release", "meta.helm.sh/release-namespace": o.Namespace})
	forged.(*appsv1.Deployment).Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "OPERATOR_CONDITION_NAME", Value: "forged"}}
	cluster.Create(t, forged)
	cluster.Create(t, &operatorsv2.OperatorCondition{
		ObjectMeta: metav1.ObjectMeta{Namespace: foreign, Name: "forged"},
		Spec:       operatorsv2.OperatorConditionSpec{Conditions: []metav1.Condition{upgradeable(metav1.ConditionFalse, "of another namespace")}},
	})
	release := holdv1alpha1.OperatorReference{Installer: holdv1alpha1.InstallerHelm, Namespace: o.Namespace, Name: "release"}
	ofUser := &holdv1alpha1.UpgradeHold{ObjectMeta: metav1.ObjectMeta{Name: "of-user-release"}, Spec: holdv1alpha1.UpgradeHoldSpec{Operator: release}}
	cluster.Create(t, ofUser)
	report := func(status metav1.ConditionStatus, message string) {
		t.Helper()
		change(t, condition, func() { condition.Spec.Conditions = []metav1.Condition{upgradeable(status, message)} })
	}
	of := holdv1alpha1.OperatorReference{Installer: holdv1alpha1.InstallerWorkload, Namespace: o.Namespace, Name: o.Name}
	hold := &holdv1alpha1.UpgradeHold{ObjectMeta: metav1.ObjectMeta{Name: of.HoldName()}}
	update := func() error {
		return plain().Patch(t.Context(), deployment, client.RawPatch(types.StrategicMergePatchType, []byte(container(`"image":"example.com/reporting:2"`))))
	}
	awaitHeld := func(message string) {
		t.Helper()
		cluster.Await(t, hold, func() string {
			if lacking := testcluster.Lacking(hold.Status.Conditions, "Held=True/OperatorConditionNotUpgradeable", "Enforced=True/PolicyBound"); lacking != "" {
				return lacking
			}
			if err := update(); err == nil || !strings.Contains(err.Error(), message) {
				return "the update is not denied with the message of the operator: " + hold.Status.Message
			}
			return ""
		})
	}
	awaitReleased := func() {
		t.Helper()
		cluster.Await(t, deployment, func() string {
			if err := update(); err != nil {
				return err.Error()
			}
			return ""
		})
		cluster.AwaitGone(t, hold)
	}

	report(metav1.ConditionFalse, "restoring a backup")
	awaitHeld("restoring a backup. To update anyway: kubectl annotate deployment -n " + o.Namespace)
	out, err := command("kubectl-operator_status", "why", o.Name, "-n", o.Namespace).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "Held by OperatorCondition "+o.Namespace+"/reporting-condition") {
		t.Errorf("why: %v\n%s", err, out)
	}

	cluster.Await(t, ofUser, func() string { return testcluster.Lacking(ofUser.Status.Conditions, "Held=False/OperatorNotFound") })
	if err := cluster.Client.Get(t.Context(), types.NamespacedName{Name: release.HoldName()}, &holdv1alpha1.UpgradeHold{}); !apierrors.IsNotFound(err) {
		t.Errorf("a workload of another namespace holds a release: %v", err)
	}

	manager.Kill(t)
	if err := update(); err == nil {
		t.Error("without a manager, the update is not denied")
	}
	report(metav1.ConditionTrue, "")
	cluster.StartManager(t)
	awaitReleased()

	report(metav1.ConditionFalse, "restoring another backup")
	awaitHeld("restoring another backup")
	override := func(status metav1.ConditionStatus) {
		t.Helper()
		change(t, condition, func() { condition.Spec.Overrides = []metav1.Condition{upgradeable(status, "decided")} })
	}
	override(metav1.ConditionTrue)
	awaitReleased()
	override(metav1.ConditionFalse)
	awaitHeld("spec.overrides of OperatorCondition " + o.Namespace + "/reporting-condition sets Upgradeable=False")
	allowing := []byte(`{"metadata":{"annotations":{"operatorstatus.io/allow-upgrade":"example.com/reporting:2"}}}`)
	if err := cluster.Client.Patch(t.Context(), deployment, client.RawPatch(types.MergePatchType, allowing)); err != nil {
		t.Fatal(err)
	}
	if err := update(); err == nil {
		t.Error("whoever may update the workload allows an update that an administrator holds")
	}
	if err := cluster.Client.Delete(context.Background(), condition); err != nil {
		t.Fatal(err)
	}
	awaitReleased()
}

// upgradeable returns the condition by which an operator or a user holds updates.
func upgradeable(status metav1.ConditionStatus, message string) metav1.Condition {
	return metav1.Condition{Type: operatorsv2.Upgradeable, Status: status, Reason: "Restoring", Message: message, LastTransitionTime: metav1.Now()}
}
