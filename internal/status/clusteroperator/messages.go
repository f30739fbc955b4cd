package clusteroperator

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-status/operator-status/api/operators/v1alpha1"
	platformv1alpha1 "github.com/operator-status/operator-status/api/platform/v1alpha1"
)

const (
	// maxNamed is the maximum number of PlatformOperators that a message names.
	maxNamed = 20

	// maxMessage is the maximum length of the message for each of them, in characters.
	maxMessage = 300

	noPlatformOperators = "No PlatformOperator exists"
)

// waiting returns a message with the number of PlatformOperators that are waited for, and why each of them takes time.
func (p platform) waiting(waitedFor group, suffix string) string {
	switch {
	case p.settles:
		return "Waiting for the PlatformOperators of the release to be created"
	case waitedFor.size == 0:
		return "Waiting for the release of the cluster to be known"
	}
	return fmt.Sprintf("Waiting for %d of %d PlatformOperators%s: %s", waitedFor.size, len(p.names), suffix, waitedFor.list(operator.whyMoving))
}

// list joins the results of why for the named PlatformOperators, and the number of those not named.
func (g group) list(why func(operator) string) string {
	out := make([]string, 0, maxNamed+1)
	for _, o := range g.first {
		out = append(out, why(o))
	}
	if more := g.size - len(g.first); more > 0 {
		out = append(out, fmt.Sprintf("and %d more: kubectl get %s.%s", more, platformOperators, platformv1alpha1.GroupVersion.Group))
	}
	return strings.Join(out, "; ")
}

// whyMoving returns why it is not installed, or that it is being updated.
func (o operator) whyMoving() string {
	switch {
	case o.absent:
		return o.name + " is part of the release, but does not exist"
	case o.failsNow():
		return o.whyFailing()
	case o.installed.status == "":
		return o.name + " has not been reconciled yet"
	case !o.isInstalled():
		return sentence(o.name, o.installed.reason, o.installed.message, "is not installed")
	case o.progressing.status == metav1.ConditionTrue:
		return sentence(o.name, o.progressing.reason, o.progressing.message, "is being updated")
	}
	return o.name + " has changed and has not been reconciled since"
}

// whyFailing is the same during and between failures, so a PlatformOperator that flaps changes no message.
func (o operator) whyFailing() string {
	return sentence(o.name, o.failingReason, o.failingMessage, "is failing and reports no message")
}

// whyNotUpgradeable omits the blocking custom resources: readers of the ClusterOperator may not be allowed to see them.
func (o operator) whyNotUpgradeable() string {
	if o.upgradeable.reason == "" {
		return o.name + " is not upgradeable"
	}
	return fmt.Sprintf("%s (%s), as its condition %s explains", o.name, o.upgradeable.reason, platformv1alpha1.ConditionUpgradeable)
}

// sentence returns a message about one PlatformOperator: its own message, or otherwise if that is empty. It omits a
// message that quotes custom resources, since readers of the ClusterOperator may not be allowed to read them.
func sentence(name, reason, message, otherwise string) string {
	if reason == operatorsv1alpha1.PlanReasonCRDUpdateUnsafe {
		return fmt.Sprintf("%s (%s): existing custom resources do not fit the new CustomResourceDefinition, as its conditions explain", name, reason)
	}
	if reason != "" {
		name += " (" + reason + ")"
	}
	if message = cut(message); message != "" {
		return name + ": " + message
	}
	return name + " " + otherwise
}

// cut makes a message one line, and truncates it to maxMessage.
func cut(message string) string {
	message = strings.Join(strings.Fields(message), " ")
	if letters := []rune(message); len(letters) > maxMessage {
		return string(letters[:maxMessage-1]) + "…"
	}
	return message
}
