package olmv1

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/internal/operator"
)

func TestUnfinished(t *testing.T) {
	created, changed := metav1.Unix(100, 0), metav1.Unix(200, 0)
	progressing := func(status metav1.ConditionStatus, reason, message string) *metav1.Condition {
		return &metav1.Condition{Type: "Progressing", Status: status, Reason: reason, Message: message, ObservedGeneration: 2, LastTransitionTime: changed}
	}
	outdated := progressing("True", "Succeeded", "")
	outdated.ObservedGeneration = 1
	for name, tc := range map[string]struct {
		reason    string
		condition *metav1.Condition
		deleted   *metav1.Time
		want      *operator.Unfinished // without its object and steps
	}{
		"New": {"Nobody has processed it.", nil, nil,
			&operator.Unfinished{Since: created, Reason: "NotReconciled", Message: "operator-controller has not processed it: check that it runs"}},
		"Changed": {"Its spec has changed since.", outdated, nil,
			&operator.Unfinished{Since: created, Reason: "NotReconciled", Message: "operator-controller has not processed it: check that it runs"}},
		"Done": {"What its catalog has is installed.", progressing("True", "Succeeded", "Desired state reached"), nil, nil},
		"Error": {"operator-controller tries again and again.", progressing("True", "Retrying", `no bundles found for package "foo"`), nil,
			&operator.Unfinished{Since: changed, Reason: "Retrying", Message: `no bundles found for package "foo"`, Broken: true}},
		"Blocked": {"It does not try again.", progressing("False", "Blocked", "invalid"), nil,
			&operator.Unfinished{Since: changed, Reason: "Blocked", Message: "invalid", Broken: true}},
		"Rolling": {"A rollout takes some time.", progressing("True", "RollingOut", "Revision 2 is rolling out"), nil,
			&operator.Unfinished{Since: changed, Reason: "RollingOut", Message: "Revision 2 is rolling out"}},
		"Denied": {"The UpgradeHold reports it.", progressing("True", "Retrying", "ValidatingAdmissionPolicy denied request: The update to x is held"), nil, nil},
		"Deleted": {"It goes once its finalizers are gone.", progressing("True", "Succeeded", ""), &changed,
			&operator.Unfinished{Since: changed, Reason: "Terminating", Message: "it is being deleted"}},
	} {
		t.Run(name, func(t *testing.T) {
			e := &ClusterExtension{ObjectMeta: metav1.ObjectMeta{Name: "foo", Generation: 2, CreationTimestamp: created, DeletionTimestamp: tc.deleted}}
			if tc.condition != nil {
				e.Status.Conditions = []metav1.Condition{*tc.condition}
			}
			got := e.Unfinished()
			if got != nil {
				if got.String() != "ClusterExtension foo" || len(got.Steps) != 1 {
					t.Errorf("it is %s, with the steps %v", got, got.Steps)
				}
				got.Ref, got.Steps = operator.Ref{}, nil
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
		})
	}
}
