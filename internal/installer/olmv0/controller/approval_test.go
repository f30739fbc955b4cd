package controller

import (
	"testing"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/optin"
)

// TestApproveLive verifies that an InstallPlan is approved only if the API server has nothing that holds it, whatever the
// cache has.
func TestApproveLive(t *testing.T) {
	at := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name)}
	}
	sub := func(gated bool) *v1alpha1.Subscription {
		out := &v1alpha1.Subscription{ObjectMeta: at("foo"), Spec: &olm.SubscriptionSpec{Package: "foo", InstallPlanApproval: olm.ApprovalManual}}
		out.Status.InstalledCSV, out.Status.CurrentCSV = "foo.v1", "foo.v2"
		out.Status.InstallPlanRef = &corev1.ObjectReference{Kind: olm.InstallPlanKind, Namespace: "default", Name: "install-2"}
		if gated {
			out.Labels = map[string]string{v1alpha1.LabelGate: v1alpha1.GateApproval}
		}
		return out
	}
	plan := func(approved bool) *olm.InstallPlan {
		out := &olm.InstallPlan{ObjectMeta: at("install-2"), Spec: olm.InstallPlanSpec{
			ClusterServiceVersionNames: []string{"foo.v2"}, Approval: olm.ApprovalManual, Approved: approved, Generation: 2,
		}, Status: olm.InstallPlanStatus{Phase: olm.InstallPlanPhaseRequiresApproval}}
		out.OwnerReferences = []metav1.OwnerReference{{Kind: v1alpha1.SubscriptionKind, Name: "foo", UID: "uid-foo"}}
		return out
	}
	running := &v1alpha1.ClusterServiceVersion{ObjectMeta: at("foo.v1")}
	running.Status.Phase = olm.CSVPhaseSucceeded
	running.Status.Conditions = []v1alpha1.ClusterServiceVersionCondition{{Phase: olm.CSVPhaseSucceeded}}
	busy := &operatorsv2.OperatorCondition{ObjectMeta: at("foo.v1"), Spec: operatorsv2.OperatorConditionSpec{
		Conditions: []metav1.Condition{{Type: operatorsv2.Upgradeable, Status: metav1.ConditionFalse, Reason: "Busy", Message: "it is busy"}},
	}}
	probe := &v1alpha1.Probe{ObjectMeta: at("foo.v1"), Spec: &v1alpha1.ProbeSpec{}, Status: v1alpha1.ProbeStatus{Conditions: []metav1.Condition{
		{Type: v1alpha1.ConditionSynced, Status: metav1.ConditionTrue}, {Type: v1alpha1.ConditionUpgradeable, Status: metav1.ConditionFalse},
	}}}

	cached := []client.Object{sub(true), plan(false), running}
	cases := map[string]struct {
		reason string
		live   []client.Object
		want   bool
	}{
		"Same":              {"Nothing holds it.", cached, true},
		"OperatorCondition": {"The operator has just said no.", append(cached, busy), false},
		"Probe":             {"A Probe has just said no.", append(cached, probe), false},
		"NoGate":            {"A user has just taken the approval back.", []client.Object{sub(false), plan(false), running}, false},
		"Approved":          {"A user has just approved it.", []client.Object{sub(true), plan(true), running}, false},
		"Deleted":           {"It has just been deleted.", []client.Object{sub(true), running}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			cache, api := fakeClient(t, cached...), fakeClient(t, tc.live...)
			r := &ApprovalReconciler{
				Client: cache, Reader: api, OptIns: &optin.Store{Reader: cache, Writer: cache, Namespace: "operator-status-system"},
				Recorder: events.NewFakeRecorder(1),
			}
			key := client.ObjectKeyFromObject(plan(false))
			if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: key}); err != nil {
				t.Fatal(err)
			}
			got := &olm.InstallPlan{}
			if err := cache.Get(t.Context(), key, got); err != nil {
				t.Fatal(err)
			}
			if got.Spec.Approved != tc.want {
				t.Errorf("%s\napproved: %t", tc.reason, got.Spec.Approved)
			}
		})
	}
}

func fakeClient(t *testing.T, objects ...client.Object) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		appsv1.AddToScheme, corev1.AddToScheme, operatorsv1.AddToScheme, operatorsv2.AddToScheme, v1alpha1.AddToScheme, holdv1alpha1.AddToScheme,
		apiextensions.AddToScheme, admissionregistrationv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	scheme.AddKnownTypes(v1alpha1.GroupVersion, &olm.InstallPlan{}, &olm.InstallPlanList{})
	var copies []client.Object
	for _, o := range objects {
		copies = append(copies, o.DeepCopyObject().(client.Object))
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(copies...).Build()
}
