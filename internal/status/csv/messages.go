package csv

import (
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// SameExceptMessages reports whether two statuses differ at most in messages, update times and the list of requirements.
func SameExceptMessages(a, b v1alpha1.ClusterServiceVersionStatus) bool {
	return equality.Semantic.DeepEqual(withoutMessages(a), withoutMessages(b))
}

func withoutMessages(status v1alpha1.ClusterServiceVersionStatus) *v1alpha1.ClusterServiceVersionStatus {
	out := status.DeepCopy()
	out.Message, out.LastUpdateTime, out.RequirementStatus = "", nil, nil
	for i := range out.Conditions {
		out.Conditions[i].Message, out.Conditions[i].LastUpdateTime = "", nil
	}
	for i := range out.LastTransitions {
		out.LastTransitions[i].Message = ""
	}
	return out
}
