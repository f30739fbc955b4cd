package operatorgroup

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestCompute(t *testing.T) {
	before, now := metav1.Unix(1, 0), metav1.Unix(2, 0)
	absent := metav1.Condition{
		Type: operatorsv1.OperatorGroupServiceAccountCondition, Status: metav1.ConditionTrue, Reason: operatorsv1.OperatorGroupServiceAccountReason,
		Message: "ServiceAccount installer not found",
	}
	since := func(c metav1.Condition, at metav1.Time) []metav1.Condition {
		c.LastTransitionTime = at
		return []metav1.Condition{c}
	}
	account := &corev1.ObjectReference{APIVersion: "v1", Kind: "ServiceAccount", Namespace: "default", Name: "installer", UID: "uid"}
	cases := map[string]struct {
		reason  string
		before  operatorsv1.OperatorGroupStatus
		account string
		uid     types.UID
		targets []string
		want    operatorsv1.OperatorGroupStatus
	}{
		"New": {reason: "A group without targets gets lastUpdated, to show that it was reconciled.",
			want: operatorsv1.OperatorGroupStatus{LastUpdated: &now}},
		"Targets": {reason: "The namespaces of the group are recorded.", before: operatorsv1.OperatorGroupStatus{Namespaces: []string{"a"}, LastUpdated: &before},
			targets: []string{"a", "b"}, want: operatorsv1.OperatorGroupStatus{Namespaces: []string{"a", "b"}, LastUpdated: &now}},
		"Unchanged": {reason: "An unchanged status keeps lastUpdated.", before: operatorsv1.OperatorGroupStatus{Namespaces: []string{"a"}, LastUpdated: &before},
			targets: []string{"a"}, want: operatorsv1.OperatorGroupStatus{Namespaces: []string{"a"}, LastUpdated: &before}},
		"Account": {reason: "The service account is referred to with its UID, and the condition is removed.", account: "installer", uid: "uid",
			before: operatorsv1.OperatorGroupStatus{Conditions: since(absent, before), LastUpdated: &before},
			want:   operatorsv1.OperatorGroupStatus{ServiceAccountRef: account, Conditions: []metav1.Condition{}, LastUpdated: &now}},
		"NoAccount": {reason: "A condition reports that the service account does not exist.", account: "installer",
			before: operatorsv1.OperatorGroupStatus{ServiceAccountRef: account, LastUpdated: &before},
			want:   operatorsv1.OperatorGroupStatus{Conditions: since(absent, now), LastUpdated: &now}},
		"StillNoAccount": {reason: "A condition that did not change keeps its transition time.", account: "installer",
			before: operatorsv1.OperatorGroupStatus{Conditions: since(absent, before), LastUpdated: &before},
			want:   operatorsv1.OperatorGroupStatus{Conditions: since(absent, before), LastUpdated: &before}},
		"NoLongerNamed": {reason: "A group without a service account has neither a reference nor a condition.", uid: "uid",
			before: operatorsv1.OperatorGroupStatus{ServiceAccountRef: account, Conditions: since(absent, before), LastUpdated: &before},
			want:   operatorsv1.OperatorGroupStatus{Conditions: []metav1.Condition{}, LastUpdated: &now}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			group := &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "mine"}, Status: tc.before}
			group.Spec.ServiceAccountName = tc.account
			in := Inputs{Group: group.DeepCopy(), Targets: tc.targets, Account: tc.uid, Now: metav1.Unix(2, 5)}
			if diff := cmp.Diff(tc.want, Compute(in)); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(group, in.Group); diff != "" {
				t.Errorf("Compute changed its input:\n%s", diff)
			}
		})
	}
}
