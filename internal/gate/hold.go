package gate

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/internal/messages"
	"github.com/operator-status/operator-status/internal/operator"
)

// Hold is one cause for which an update has to wait.
type Hold struct {
	// Reason is one of the reasons of UpgradeHeld.
	Reason string

	// By is the object that reports the cause. Since is when it started to, or zero.
	By    operator.Ref
	Since metav1.Time

	// Until is when it ends, or nil if no time ends it.
	Until *metav1.Time

	// Target is the version that is not installed.
	Target string

	// Cause is a clause about the cause, and how it ends.
	Cause string

	// Caveat is a sentence about why the cause may be out of date, or empty.
	Caveat string

	// Override is how an administrator can let the update proceed. The zero value is for an administrator's own hold.
	Override Override

	// Unreported is true if custom resources do not allow the update, and their Probe does not report that.
	Unreported bool
}

// Message names the held update, the cause and the caveat.
func (h Hold) Message() string { return statement(h.Target, h.Cause, h.Caveat) }

// held returns the decision that an update has to wait.
func (in Inputs) held(holds []Hold) Decision {
	return Decision{
		Held: true, Holds: holds, Reason: holds[0].Reason,
		Message: statement(in.Target, causes(holds), holds[0].Caveat) + overrides(holds),
	}
}

// Explanation returns why updates are held, and how to override that as a clause to append, or "".
func Explanation(holds []Hold) (why, override string) {
	return because(causes(holds), holds[0].Caveat), overrides(holds)
}

// overrides returns the end of a message with how to override all holds, or "" if one can only be ended.
func overrides(holds []Hold) string {
	var known []Override
	var more []string
	for _, h := range holds {
		switch o := h.Override; {
		case o == (Override{}):
			return ""
		case !slices.Contains(known, o):
			known, more = append(known, o), append(more, o.String())
		}
	}
	more[0] = known[0].clause()
	return strings.Join(more, " and ")
}

// isHeld begins each statement, and notUpgradeable follows on the object that reports it.
const (
	isHeld         = "The update to %s is held"
	notUpgradeable = " reports Upgradeable=False"
)

// statement returns a sentence about why an update is held.
func statement(target, cause, caveat string) string {
	return fmt.Sprintf(isHeld, target) + because(messages.Quote(cause), caveat)
}

func because(cause, caveat string) string {
	if caveat != "" {
		cause += ". " + caveat
	}
	return cause
}

func causes(holds []Hold) string {
	out := make([]string, 0, len(holds))
	for _, h := range holds {
		out = append(out, h.Cause)
	}
	return strings.Join(out, "; ")
}

// Gist returns a message of Hold or Decision without what is known where the target is: that its update is held, and that an object
// reports it.
func Gist(message, target, by string) string {
	message = strings.TrimPrefix(message, fmt.Sprintf(isHeld, target)+": ")
	return strings.TrimPrefix(message, by+notUpgradeable+": ")
}
