package olmv0

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer"
)

// TestWouldHold verifies that the holds of an operator are reported while no update is available, with how to end those of administrators.
func TestWouldHold(t *testing.T) {
	override := &operatorsv2.OperatorCondition{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "foo.v1"}}
	override.Spec.Overrides = []metav1.Condition{{Type: operatorsv2.Upgradeable, Status: metav1.ConditionFalse, Message: "audit"}}
	busy := override.DeepCopy()
	busy.Spec.Conditions, busy.Spec.Overrides = busy.Spec.Overrides, nil
	ofUser := func(name string) *holdv1alpha1.UpgradeHold {
		out := &holdv1alpha1.UpgradeHold{ObjectMeta: metav1.ObjectMeta{Name: "audit"}}
		out.Spec.Operator = holdv1alpha1.SubscribedOperator("default", name)
		out.Status.Conditions = []metav1.Condition{{Type: holdv1alpha1.ConditionHeld, Status: metav1.ConditionTrue}}
		out.Status.Holds = []holdv1alpha1.HoldCause{{Reason: holdv1alpha1.ReasonHeldByUser, By: "UpgradeHold audit", Message: "until Friday"}}
		return out
	}
	reported := ofUser("foo")
	reported.Labels = map[string]string{holdv1alpha1.LabelReported: "true"}
	cases := map[string]struct {
		reason string
		by     installer.Object
		want   []string
	}{
		"None":     {"Nothing holds it.", nil, nil},
		"Operator": {"An operator ends its own hold.", busy, []string{"OperatorCondition default/foo.v1", "kubectl describe operatorcondition.operators.coreos.com -n default foo.v1"}},
		"Override": {
			"The hold of an administrator lasts until it is released.", override,
			[]string{
				"OperatorCondition default/foo.v1", "kubectl describe operatorcondition.operators.coreos.com -n default foo.v1", "kubectl operator-status release -n default foo.v1",
			},
		},
		"User":     {"So does that of a user.", ofUser("foo"), []string{"UpgradeHold audit", "kubectl delete upgradehold.operatorstatus.io audit"}},
		"Another":  {"That of another operator does not count.", ofUser("bar"), nil},
		"Reported": {"That of operator-status repeats others.", reported, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			subscription, version, source := sub("foo.v1", "foo.v1"), csv("foo.v1", "", olm.CSVPhaseSucceeded), catalog()
			c := installer.Cluster{Objects: []installer.Object{&subscription, &version, &source}}
			if tc.by != nil {
				c.Objects = append(c.Objects, tc.by)
			}
			op := Installer{}.Operators(c)[0]
			var got []string
			for _, b := range op.WouldHold {
				got = append(got, b.By)
				for _, s := range b.Steps {
					got = append(got, s.Command)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || len(op.Blockers) > 0 {
				t.Errorf("%s\nblockers: %+v, -want +got\n%s", tc.reason, op.Blockers, diff)
			}
			if (op.Upgradeable == metav1.ConditionTrue) != (len(tc.want) == 0) {
				t.Errorf("%s\nUpgradeable is %s", tc.reason, op.Upgradeable)
			}
		})
	}
}

// TestUnreadHolds verifies that an operator may be held by an UpgradeHold that may not be read, if the cluster has such objects.
func TestUnreadHolds(t *testing.T) {
	for crd, want := range map[string]metav1.ConditionStatus{"upgradeholds.operatorstatus.io": metav1.ConditionUnknown, "foos.example.com": metav1.ConditionTrue} {
		subscription, version, source := sub("foo.v1", "foo.v1"), csv("foo.v1", "", olm.CSVPhaseSucceeded), catalog()
		installed := plan(olm.InstallPlanPhaseComplete, "foo.v1")
		definition := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: crd}}
		c := installer.Cluster{Objects: []installer.Object{&subscription, &version, &source, &installed, definition}, Unread: []string{"UpgradeHolds"}}
		op := Installer{}.Operators(c)[0]
		if op.Upgradeable != want || op.UpToDate != metav1.ConditionTrue || op.Undecided() != (want == metav1.ConditionUnknown) {
			t.Errorf("with CustomResourceDefinition %s: Upgradeable=%s, UpToDate=%s, unread %v", crd, op.Upgradeable, op.UpToDate, op.Unread)
		}
	}
}
