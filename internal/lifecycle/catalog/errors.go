package catalog

import (
	"errors"
	"fmt"
	"regexp"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/messages"
)

// Error says why a catalog or a bundle cannot be read.
type Error struct {
	// Reason is one of the API's constants, such as ReasonUnreachable or ReasonBundleInvalid.
	Reason string

	cause error
}

// Error is the same text for the same cause: it holds no time, and no port that was picked for one connection.
func (e *Error) Error() string { return Stable(e.cause.Error()) }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.cause }

// Permanent is true where reading the same again ends the same, until somebody changes what is read.
func (e *Error) Permanent() bool {
	switch e.Reason {
	case v1alpha1.ReasonSpecInvalid, v1alpha1.ReasonConfigMapNotFound, v1alpha1.ReasonNotACatalog,
		v1alpha1.ReasonTooLarge, v1alpha1.ReasonBundleInvalid, v1alpha1.ReasonPlaintextNotAllowed,
		v1alpha1.ReasonDigestRequired, v1alpha1.ReasonTooManyCatalogSources:
		return true
	}
	return false
}

// OfSignature reports whether an ImagePolicy is not satisfied. That may pass: an image can be signed after it was pushed.
func (e *Error) OfSignature() bool {
	switch e.Reason {
	case v1alpha1.ReasonSignatureMissing, v1alpha1.ReasonSignatureInvalid, v1alpha1.ReasonImagePolicyInvalid:
		return true
	}
	return false
}

// Errorf returns an Error whose cause is formatted as by fmt.Errorf.
func Errorf(reason, format string, args ...any) error {
	return &Error{Reason: reason, cause: fmt.Errorf(format, args...)}
}

// AsError returns err as an Error: with the reason that it has, or else the given one.
func AsError(err error, reason string) *Error {
	if known, ok := errors.AsType[*Error](err); ok {
		reason = known.Reason
	}
	return &Error{Reason: reason, cause: err}
}

// ownAddress is what the text of a network error tells of our end of the connection.
var ownAddress = regexp.MustCompile(`\b(tcp|udp)([46]?) \S+->`)

const longestMessage = 1000

// Stable returns text in one line that is the same for the same cause.
func Stable(text string) string {
	return messages.Clip(ownAddress.ReplaceAllString(messages.Line(text), "$1$2 "), longestMessage)
}
