package gate

import (
	"fmt"
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

// held returns the decision that an update has to wait, for holds that have the same override.
func (in Inputs) held(holds []Hold) Decision {
	out := Decision{Held: true, Holds: holds, Reason: holds[0].Reason, Message: statement(in.Target, causes(holds), holds[0].Caveat)}
	if override := holds[0].Override; override != (Override{}) {
		out.Message += override.clause()
	}
	return out
}

// statement returns a sentence about why an update is held.
func statement(target, cause, caveat string) string {
	out := fmt.Sprintf("The update to %s is held%s", target, messages.Quote(cause))
	if caveat != "" {
		out += ". " + caveat
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
