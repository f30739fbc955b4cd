package olmv0

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	platformv1alpha1 "github.com/operator-status/operator-status/api/platform/v1alpha1"
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
	reported.Status.Holds = []holdv1alpha1.HoldCause{
		{Reason: holdv1alpha1.ReasonHeldByUser, By: "OperatorCondition default/foo.v1", Message: "audit"},
		{Reason: v1alpha1.ReasonProbeNotRead, By: "Probe default/foo.v1", Message: "it does not exist"},
	}
	cases := map[string]struct {
		reason string
		by     []installer.Object
		want   []string
	}{
		"None":     {"Nothing holds it.", nil, nil},
		"Operator": {"An operator ends its own hold.", []installer.Object{busy}, []string{"OperatorCondition default/foo.v1", "kubectl describe operatorcondition.operators.coreos.com -n default foo.v1"}},
		"Override": {
			"The hold of an administrator lasts until it is released.", []installer.Object{override},
			[]string{
				"OperatorCondition default/foo.v1", "kubectl describe operatorcondition.operators.coreos.com -n default foo.v1", "kubectl operator-status release -n default foo.v1",
			},
		},
		"User":    {"So does that of a user.", []installer.Object{ofUser("foo")}, []string{"UpgradeHold audit", "kubectl delete upgradehold.operatorstatus.io audit"}},
		"Another": {"That of another operator does not count.", []installer.Object{ofUser("bar")}, nil},
		"Reported": {
			"That of operator-status repeats one of OLM, and has one that only it knows.", []installer.Object{busy, reported},
			[]string{
				"OperatorCondition default/foo.v1", "kubectl describe operatorcondition.operators.coreos.com -n default foo.v1",
				"Probe default/foo.v1", "kubectl get upgradehold.operatorstatus.io audit -o jsonpath='{.status.message}'",
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			subscription, version, source := sub("foo.v1", "foo.v1"), csv("foo.v1", "", olm.CSVPhaseSucceeded), catalog()
			c := installer.Cluster{Objects: []installer.Object{&subscription, &version, &source}}
			c.Objects = append(c.Objects, tc.by...)
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

// TestUnreadyPlatformOperators verifies that an operator is not clear while its PlatformOperator is not ready, and exists without Subscription.
func TestUnreadyPlatformOperators(t *testing.T) {
	composing := func(name, reason string, subscription *v1alpha1.Subscription) *platformv1alpha1.PlatformOperator {
		out := &platformv1alpha1.PlatformOperator{ObjectMeta: metav1.ObjectMeta{Name: name}}
		out.Spec.Package.Name = name
		out.Status.Conditions = []metav1.Condition{
			{
				Type: platformv1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: reason, Message: "ConfigMap a is refused",
				LastTransitionTime: metav1.Unix(100, 0),
			},
		}
		if subscription != nil {
			out.Status.Resources = []platformv1alpha1.ResourceStatus{{Reference: corev1.ObjectReference{
				Kind: v1alpha1.SubscriptionKind, Namespace: subscription.Namespace, Name: subscription.Name,
			}}}
		}
		return out
	}
	subscription, version, source := sub("foo.v1", "foo.v1"), csv("foo.v1", "", olm.CSVPhaseSucceeded), catalog()
	installed := []installer.Object{&subscription, &version, &source}
	observing := composing("foo", platformv1alpha1.ReasonDegraded, nil)
	observing.Spec.ManagementPolicy, observing.Status.Namespace = platformv1alpha1.ManagementObserve, "default"
	duplicate := composing("foo", platformv1alpha1.ReasonFailed, nil)
	duplicate.Spec.Namespace = "default"
	for name, tc := range map[string]struct {
		reason    string
		objects   []installer.Object
		namespace string
		want      []string
	}{
		"Failed": {
			"A user has to repair it.", append(installed, composing("bar", platformv1alpha1.ReasonFailed, &subscription)), "",
			[]string{"default/foo Running Broken PlatformOperator bar"},
		},
		"Degraded": {
			"It may take some time, or not.", append(installed, composing("bar", platformv1alpha1.ReasonDegraded, &subscription)), "",
			[]string{"default/foo Running Waiting PlatformOperator bar"},
		},
		"Observing": {
			"It composes nothing, and is about the operator of its package.", append(installed, observing), "",
			[]string{"default/foo Running Waiting PlatformOperator foo"},
		},
		"Duplicate": {
			"It is ignored, and says nothing about the operator of the older one.", append(installed, duplicate), "",
			[]string{"default/foo Running", "default/foo NotInstalled Broken PlatformOperator foo"},
		},
		"Creating":       {"It takes some time.", append(installed, composing("bar", platformv1alpha1.ReasonCreating, &subscription)), "", []string{"default/foo Running"}},
		"NoSubscription": {"It has not even that.", []installer.Object{composing("bar", platformv1alpha1.ReasonFailed, nil)}, "", []string{"bar/bar NotInstalled Broken PlatformOperator bar"}},
		"Elsewhere":      {"It is to be installed in another namespace.", []installer.Object{composing("bar", platformv1alpha1.ReasonFailed, nil)}, "default", nil},
	} {
		t.Run(name, func(t *testing.T) {
			all, c := installer.Installers{Installer{}}, installer.Cluster{Objects: tc.objects, Namespace: tc.namespace}
			var got []string
			for _, op := range all.Explain(c, all.Operators(c), time.Unix(300, 0)) {
				if node := all.Trees(c)(op); node.Name != "PlatformOperator "+op.PlatformOperator && op.PlatformOperator != "" {
					t.Errorf("the tree of operator %s begins with %s", op.Name, node.Name)
				}
				line := fmt.Sprintf("%s/%s %s", op.Namespace, op.Name, op.State)
				for _, b := range op.Blockers {
					line += fmt.Sprintf(" %s %s", b.Impact, b.By)
				}
				got = append(got, line)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
		})
	}
}
