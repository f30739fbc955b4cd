package csvchain

import (
	"regexp"

	corev1 "k8s.io/api/core/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// installedTwice matches two installed versions of one operator, in a message of OLM's resolver.
var installedTwice = regexp.MustCompile(`@existing/[^/\s]*//(\S+) and @existing/[^/\s]*//(\S+) originate from package `)

// IsOfUpdate reports whether a condition reports that OLM cannot resolve a namespace since two versions of an operator exist, of which one
// is that which its Subscription updates to. Each update fails so for a while, and OLM resolves the namespace again by itself. The condition
// may be that of another Subscription: OLM sets the same on all of a namespace.
func IsOfUpdate(updated *v1alpha1.SubscriptionStatus, c v1alpha1.SubscriptionCondition) bool {
	if c.Type != v1alpha1.SubscriptionResolutionFailed || c.Status != corev1.ConditionTrue || updated.CurrentCSV == "" {
		return false
	}
	for _, match := range installedTwice.FindAllStringSubmatch(c.Message, -1) {
		if match[1] == updated.CurrentCSV || match[2] == updated.CurrentCSV {
			return true
		}
	}
	return false
}
