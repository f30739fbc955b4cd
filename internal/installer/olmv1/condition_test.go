package olmv1

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/internal/installer"
	"github.com/operator-status/operator-status/internal/operator"
)

func TestOperatorCondition(t *testing.T) {
	workload := func(kind, name, account, condition string) installer.Workload {
		return installer.Workload{Ref: operator.Ref{Kind: kind, Namespace: "operators", Name: name}, ServiceAccount: account, Condition: condition}
	}
	for name, tc := range map[string]struct {
		reason    string
		workloads []installer.Workload
		want      *operatorsv2.OperatorConditionSpec
	}{
		"None":  {"An operator that is told no name writes none.", []installer.Workload{workload("Deployment", "a", "a", "")}, nil},
		"Other": {"One of another name is that of a user.", []installer.Workload{workload("Deployment", "a", "a", "mine")}, nil},
		"Several": {
			"Each account may write it.", []installer.Workload{
				workload("Deployment", "b", "b", "foo"), workload("Deployment", "a", "b", "foo"), workload("StatefulSet", "c", "a", "foo"), workload("Deployment", "d", "d", ""),
			},
			&operatorsv2.OperatorConditionSpec{ServiceAccounts: []string{"a", "b"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := OperatorCondition(&metav1.ObjectMeta{Name: "foo", UID: "1"}, "operators", tc.workloads)
			if got == nil || tc.want == nil {
				if (got == nil) != (tc.want == nil) {
					t.Errorf("%s got %v", tc.reason, got)
				}
				return
			}
			if diff := cmp.Diff(*tc.want, got.Spec); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
			if owner := metav1.GetControllerOf(got); owner == nil || owner.UID != "1" || got.Namespace != "operators" || got.Name != "foo" {
				t.Errorf("it is %+v", got.ObjectMeta)
			}
		})
	}
}
