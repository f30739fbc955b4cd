package subscription

import (
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// WordsInterval is how often at most a status is written that says the same in other words, which change with every pod
// of an operator that comes up.
const WordsInterval = time.Second

// SameButWords is true for two statuses of which only the messages differ.
func SameButWords(a, b v1alpha1.SubscriptionStatus) bool {
	return equality.Semantic.DeepEqual(wordless(a), wordless(b))
}

func wordless(status v1alpha1.SubscriptionStatus) *v1alpha1.SubscriptionStatus {
	out := status.DeepCopy()
	out.Message, out.LastUpdated = "", metav1.Time{}
	for i := range out.Conditions {
		out.Conditions[i].Message = ""
	}
	return out
}
