package subscription

import (
	"fmt"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/messages"
)

// SameExceptMessages reports whether two statuses differ at most in messages and LastUpdated.
func SameExceptMessages(a, b v1alpha1.SubscriptionStatus) bool {
	return equality.Semantic.DeepEqual(withoutMessages(a), withoutMessages(b))
}

func withoutMessages(status v1alpha1.SubscriptionStatus) *v1alpha1.SubscriptionStatus {
	out := status.DeepCopy()
	out.Message, out.LastUpdated = "", metav1.Time{}
	for i := range out.Conditions {
		out.Conditions[i].Message = ""
	}
	return out
}

// maxNamed is how many objects a message names.
const maxNamed = 5

// Named lists names for a message.
func Named(names []string) string { return messages.List(names, maxNamed, ", ") }

// HowToApprove returns the command with which a user approves an InstallPlan.
func HowToApprove(plan *olm.InstallPlan) string {
	return fmt.Sprintf(`kubectl patch installplan.operators.coreos.com -n %s %s --type=merge -p '{"spec":{"approved":true}}'`, plan.Namespace, plan.Name)
}
