package gate

import (
	"fmt"
	"strings"

	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/messages"
	"github.com/operator-status/operator-status/internal/operator"
)

// AnyVersion stands for the version of an update that is not known yet. The policies that enforce UpgradeHolds replace it by that of the
// update that they deny.
const AnyVersion = "<version>"

// Override is how an administrator lets a held update proceed.
type Override struct {
	// Object asks for the update and gets the annotation that allows it, or is an OperatorCondition, which gets an entry in
	// `spec.overrides`.
	Object operator.Ref

	// Resource is the kind of the object for kubectl. It is empty for an OperatorCondition.
	Resource string

	// Target is the version that the annotation allows, and Replaces is true if the object has it for another one.
	Target   string
	Replaces bool
}

// String returns the instruction as part of a message.
func (o Override) String() string {
	if o.Resource != "" {
		return o.Command()
	}
	return "set Upgradeable=True in spec.overrides of " + o.Object.String()
}

// Command returns the command for a shell, or "" for the zero value.
func (o Override) Command() string {
	switch {
	case o.Object == (operator.Ref{}):
		return ""
	case o.Resource != "":
		out := "kubectl annotate " + o.Resource
		if o.Object.Namespace != "" {
			out += operator.Command(" -n %s", o.Object.Namespace)
		}
		out += operator.Command(" %s "+v1alpha1.AnnotationAllowUpgrade+"=%s", o.Object.Name, o.Target)
		if o.Replaces {
			out += " --overwrite"
		}
		return out
	default:
		return operator.Command(`kubectl patch operatorcondition.operators.coreos.com -n %s %s --type=merge -p `+
			`'{"spec":{"overrides":[{"type":"Upgradeable","status":"True","reason":"Approved","message":"Update anyway"}]}}'`, o.Object.Namespace, o.Object.Name)
	}
}

// clause returns the end of a message, or "" for the zero value.
func (o Override) clause() string {
	if o == (Override{}) {
		return ""
	}
	return toUpdateAnyway + o.String()
}

const toUpdateAnyway = ". To update anyway: "

// Clip shortens a message of Decision to a number of bytes. It keeps the override at its end, unless that takes more than half of them.
func Clip(message string, limit int) string {
	i := strings.LastIndex(message, toUpdateAnyway)
	if i < 0 || len(message)-i > limit/2 {
		return messages.Clip(message, limit)
	}
	return messages.Clip(message[:i], limit-len(message[i:])) + message[i:]
}

// CutFrom cuts a message of Decision where it states the override, and reports whether it does.
func (o Override) CutFrom(message string) (before string, found bool) {
	before, _, found = strings.Cut(message, o.clause())
	return before, found
}

// overrideOf returns an administrator's override in the OperatorCondition, or nil.
func overrideOf(condition *operatorsv2.OperatorCondition) *metav1.Condition {
	if condition == nil {
		return nil
	}
	return meta.FindStatusCondition(condition.Spec.Overrides, operatorsv2.Upgradeable)
}

// overriddenHold returns the hold by which an administrator overrides everything else.
func (in Inputs) overriddenHold(override metav1.Condition) Hold {
	return Hold{
		Reason: v1alpha1.ReasonOperatorConditionNotUpgradeable, By: refTo(kindOperatorCondition, in.OperatorCondition),
		Since: override.LastTransitionTime, Target: in.Target,
		Cause: fmt.Sprintf("spec.overrides of OperatorCondition %s sets Upgradeable=%s%s. "+
			"The update continues when the override is removed or set to True",
			nameOf(in.OperatorCondition), override.Status, messages.Quote(override.Message)),
	}
}

// allowedBy names the override by which an administrator allows the update, or returns "".
func allowedBy(in Inputs, override *metav1.Condition) string {
	switch {
	case override != nil && override.Status == metav1.ConditionTrue:
		return "spec.overrides of OperatorCondition " + nameOf(in.OperatorCondition)
	case in.Request != nil && in.isAllowed(in.Request.Annotations) && !in.beyondAnnotation():
		return annotationOf(in.Request.Ref)
	default:
		return ""
	}
}

// annotationOf names the annotation of an object that allows an update.
func annotationOf(o operator.Ref) string {
	return "annotation " + v1alpha1.AnnotationAllowUpgrade + " of " + o.String()
}

// beyondAnnotation reports whether the annotation of operator-status cannot end the hold, since OLM also holds the
// update because of the operator's own condition.
func (in Inputs) beyondAnnotation() bool {
	return in.BesideOLM && in.operatorHold() != nil
}

// Override returns how an administrator can override the holds.
func (in Inputs) Override() Override {
	if in.Request == nil || in.beyondAnnotation() {
		return Override{Object: operator.Ref{Kind: kindOperatorCondition, Namespace: in.Running.Namespace, Name: in.Running.Name}}
	}
	return in.allowingOn(in.Request.Ref, in.Request.Resource, in.Request.Annotations)
}

// allowingOn returns the override by the annotation of an object that has these annotations.
func (in Inputs) allowingOn(object operator.Ref, resource string, annotations map[string]string) Override {
	_, replaces := annotations[v1alpha1.AnnotationAllowUpgrade]
	return Override{Object: object, Resource: resource, Target: in.Target, Replaces: replaces}
}
