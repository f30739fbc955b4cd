package controller

import (
	"testing"
	"time"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/optin"
)

// TestGate verifies that our entry in an OperatorCondition keeps holding an update that OLM has begun, also once a policy denies the
// InstallPlans of the updates after it.
func TestGate(t *testing.T) {
	const namespace = "operator-status-system"
	at := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "default", Name: name} }
	version := func(name, replaces string, phase olm.ClusterServiceVersionPhase) *v1alpha1.ClusterServiceVersion {
		out := &v1alpha1.ClusterServiceVersion{ObjectMeta: at(name), Spec: olm.ClusterServiceVersionSpec{Replaces: replaces}}
		out.Status.Phase = phase
		return out
	}
	v1, v2 := version("foo.v1", "", olm.CSVPhaseSucceeded), version("foo.v2", "foo.v1", olm.CSVPhasePending)
	sub := &v1alpha1.Subscription{ObjectMeta: at("foo"), Spec: &olm.SubscriptionSpec{Package: "foo"}}
	sub.Status.InstalledCSV, sub.Status.CurrentCSV = "foo.v2", "foo.v2"
	allowing := sub.DeepCopy()
	allowing.Annotations = map[string]string{v1alpha1.AnnotationAllowUpgrade: "foo.v2"}
	gated := sub.DeepCopy()
	gated.Spec.InstallPlanApproval, gated.Labels = olm.ApprovalManual, map[string]string{v1alpha1.LabelGate: v1alpha1.GateApproval}
	probe := &v1alpha1.Probe{ObjectMeta: at("foo.v1"), Spec: &v1alpha1.ProbeSpec{}}
	probe.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionUpgradeable, Status: metav1.ConditionFalse}}
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "hold-installplans"}}
	binding := func(action admissionregistrationv1.ValidationAction) *admissionregistrationv1.ValidatingAdmissionPolicyBinding {
		out := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: policy.ObjectMeta}
		out.Labels = map[string]string{holdv1alpha1.LabelEnforces: string(holdv1alpha1.InstallerOLM)}
		out.Spec.PolicyName, out.Spec.ValidationActions = policy.Name, []admissionregistrationv1.ValidationAction{action}
		out.Spec.ParamRef = &admissionregistrationv1.ParamRef{Namespace: namespace, Selector: &metav1.LabelSelector{
			MatchLabels: map[string]string{holdv1alpha1.LabelDenies: holdv1alpha1.DeniesInstallPlans},
		}}
		return out
	}
	cases := map[string]struct {
		reason  string
		objects []client.Object
		want    string
	}{
		"NoPolicy":  {"Without a policy it holds.", []client.Object{v1, v2, sub}, "False/ProbeNotUpgradeable"},
		"NotBegun":  {"With one it does not have to hold what has not begun.", []client.Object{v1, policy, binding("Deny")}, "True/UpgradeHold"},
		"Begun":     {"A policy cannot deny what has begun.", []client.Object{v1, v2, sub, policy, binding("Deny")}, "False/ProbeNotUpgradeable"},
		"Gated":     {"Nor does the approval gate hold that.", []client.Object{v1, v2, gated, policy, binding("Deny")}, "False/ProbeNotUpgradeable"},
		"Allowed":   {"An administrator lets it go on.", []client.Object{v1, v2, allowing, policy, binding("Deny")}, "True/Overridden"},
		"AllAtOnce": {"Also with all others.", []client.Object{v1, v2, sub, policy, binding("Warn")}, "True/UpgradeHold"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			condition := &operatorsv2.OperatorCondition{ObjectMeta: at("foo.v1")}
			condition.Spec.Conditions = []metav1.Condition{
				{Type: operatorsv2.Upgradeable, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonProbeNotUpgradeable},
			}
			c := fakeClient(t, append(tc.objects, probe, condition)...)
			r := &GateReconciler{
				Client: c, Clock: time.Now, Recorder: events.NewFakeRecorder(1), OptIns: &optin.Store{Reader: c, Writer: c, Namespace: namespace},
			}
			if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(condition)}); err != nil {
				t.Fatal(err)
			}
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(condition), condition); err != nil {
				t.Fatal(err)
			}
			got := condition.Spec.Conditions[0]
			if string(got.Status)+"/"+got.Reason != tc.want {
				t.Errorf("%s\ngot %s/%s, want %s", tc.reason, got.Status, got.Reason, tc.want)
			}
		})
	}
}
