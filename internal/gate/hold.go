package gate

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/messages"
)

// Hold is one cause for which an update has to wait.
type Hold struct {
	// Reason is one of the reasons of UpgradeHeld.
	Reason string

	// By is the object that reports the cause. Since is when it started to, or zero.
	By    Object
	Since metav1.Time

	// Target is the ClusterServiceVersion that is not installed.
	Target string

	// Cause is a clause about the cause, and how it ends.
	Cause string

	// Doubt is a sentence about why the cause may be out of date, or empty.
	Doubt string

	// Override is how an administrator can let the update proceed. The zero value is for an administrator's own hold.
	Override Override

	// Unreported is true if custom resources do not allow the update, and their Probe does not report that.
	Unreported bool
}

// Message names the held update, the cause and the doubt.
func (h Hold) Message() string { return statement(h.Target, h.Cause, h.Doubt) }

// Object identifies an object in messages.
type Object struct{ Kind, Namespace, Name string }

// String returns for example "Probe default/foo.v1".
func (o Object) String() string { return o.Kind + " " + o.Namespace + "/" + o.Name }

// Override is how an administrator lets a held update proceed.
type Override struct {
	// Object is a Subscription, which gets the annotation that allows the update, or an OperatorCondition, which gets an
	// entry in `spec.overrides`.
	Object Object

	// Target is the version that the annotation allows, and Replaces is true if the Subscription has it for another one.
	Target   string
	Replaces bool
}

// String returns the instruction as part of a message.
func (o Override) String() string {
	if o.Object.Kind == v1alpha1.SubscriptionKind {
		return o.Command()
	}
	return "set Upgradeable=True in spec.overrides of " + o.Object.String()
}

// Command returns the command for a shell, or "" for the zero value.
func (o Override) Command() string {
	switch o.Object.Kind {
	case "":
		return ""
	case v1alpha1.SubscriptionKind:
		out := fmt.Sprintf("kubectl annotate subscription -n %s %s %s=%s", o.Object.Namespace, o.Object.Name, v1alpha1.AnnotationAllowUpgrade, o.Target)
		if o.Replaces {
			out += " --overwrite"
		}
		return out
	default:
		return fmt.Sprintf(`kubectl patch operatorcondition -n %s %s --type=merge -p `+
			`'{"spec":{"overrides":[{"type":"Upgradeable","status":"True","reason":"Approved","message":"Update anyway"}]}}'`, o.Object.Namespace, o.Object.Name)
	}
}

// held returns the decision that an update has to wait, for holds that have the same override.
func (in Inputs) held(holds []Hold) Decision {
	out := Decision{Held: true, Holds: holds, Reason: holds[0].Reason, Message: statement(in.Target, causes(holds), holds[0].Doubt)}
	if override := holds[0].Override; override != (Override{}) {
		out.Message += override.clause()
	}
	return out
}

// clause returns the end of a message.
func (o Override) clause() string { return ". To update anyway: " + o.String() }

// CutFrom cuts a message of Decision where it states the override, and reports whether it does.
func (o Override) CutFrom(message string) (before string, found bool) {
	before, _, found = strings.Cut(message, o.clause())
	return before, found
}

// statement returns a sentence about why an update is held.
func statement(target, cause, doubt string) string {
	out := fmt.Sprintf("The update to %s is held%s", target, messages.Quote(cause))
	if doubt != "" {
		out += ". " + doubt
	}
	return out
}

func causes(holds []Hold) string {
	out := make([]string, 0, len(holds))
	for _, h := range holds {
		out = append(out, h.Cause)
	}
	return strings.Join(out, "; ")
}
