package catalog

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// Error says why a catalog or a bundle cannot be read.
type Error struct {
	// Reason is one of the API's constants, such as ReasonUnreachable or ReasonBundleInvalid.
	Reason string

	cause error
}

// Error is the same text for the same cause: it holds no time, and no port that was picked for one connection.
func (e *Error) Error() string { return stable(e.cause.Error()) }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.cause }

// Permanent is true where reading the same again ends the same, until somebody changes what is read.
func (e *Error) Permanent() bool {
	switch e.Reason {
	case v1alpha1.ReasonSpecInvalid, v1alpha1.ReasonConfigMapNotFound, v1alpha1.ReasonNotACatalog,
		v1alpha1.ReasonTooLarge, v1alpha1.ReasonBundleInvalid, v1alpha1.ReasonPlaintextNotAllowed,
		v1alpha1.ReasonDigestRequired:
		return true
	}
	return false
}

// failure is an Error. Its cause is worded as fmt.Errorf does it.
func failure(reason, format string, args ...any) error {
	return &Error{Reason: reason, cause: fmt.Errorf(format, args...)}
}

// asError is err as an Error, with a reason of its own where it has one and the given one where it has none.
func asError(err error, reason string) *Error {
	if known, ok := errors.AsType[*Error](err); ok {
		reason = known.Reason
	}
	return &Error{Reason: reason, cause: err}
}

// ownAddress is what the text of a network error tells of our end of the connection.
var ownAddress = regexp.MustCompile(`\b(tcp|udp)([46]?) \S+->`)

const longestMessage = 1000

func stable(text string) string {
	return shorten(ownAddress.ReplaceAllString(strings.Join(strings.Fields(text), " "), "$1$2 "), longestMessage)
}

// shorten cuts text that is longer than most, and shows that it did.
func shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + " …"
}

// listed joins the first few of a list and tells how many more there are.
func listed(all []string, most int, separator string) string {
	if len(all) <= most {
		return strings.Join(all, separator)
	}
	return fmt.Sprintf("%s%sand %d more", strings.Join(all[:most], separator), separator, len(all)-most)
}
