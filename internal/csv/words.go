package csv

import (
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// WordsInterval is how often at most a status is written that says the same in other words. While deployments come up the
// words change with every pod.
const WordsInterval = time.Second

// SameButWords is true for two statuses of which only the messages, and what is listed in them, differ.
func SameButWords(a, b v1alpha1.ClusterServiceVersionStatus) bool {
	return equality.Semantic.DeepEqual(wordless(a), wordless(b))
}

func wordless(status v1alpha1.ClusterServiceVersionStatus) *v1alpha1.ClusterServiceVersionStatus {
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
