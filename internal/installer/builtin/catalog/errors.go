package catalog

import (
	"errors"
	"fmt"
	"regexp"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/messages"
)

// Error is the reason why a catalog or a bundle cannot be read.
type Error struct {
	// Reason is one of the API's constants, such as ReasonUnreachable or ReasonBundleInvalid.
	Reason string

	cause error
}

// Error returns the same text for the same cause: no time, and no local address or port of a connection.
func (e *Error) Error() string { return Stable(e.cause.Error()) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.cause }

// Permanent reports whether another attempt fails in the same way until the catalog or bundle, or a setting of the
// manager, changes.
func (e *Error) Permanent() bool {
	switch e.Reason {
	case v1alpha1.ReasonSpecInvalid, v1alpha1.ReasonConfigMapNotFound, v1alpha1.ReasonNotACatalog,
		v1alpha1.ReasonTooLarge, v1alpha1.ReasonBundleInvalid, v1alpha1.ReasonPlaintextNotAllowed,
		v1alpha1.ReasonDigestRequired, v1alpha1.ReasonTooManyCatalogSources:
		return true
	}
	return false
}

// OfSignature reports whether an ImagePolicy is not satisfied. A later attempt may succeed, since an image can be
// signed after it was pushed.
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

// AsError returns err as an Error. It keeps the reason of an Error that err wraps; otherwise it uses the given one.
func AsError(err error, reason string) *Error {
	if known, ok := errors.AsType[*Error](err); ok {
		reason = known.Reason
	}
	return &Error{Reason: reason, cause: err}
}

// ownAddress matches the local address in the text of a network error.
var ownAddress = regexp.MustCompile(`\b(tcp|udp)([46]?) \S+->`)

const longestMessage = 1000

// Stable returns text as a single line that is the same for the same cause.
func Stable(text string) string {
	return messages.Clip(ownAddress.ReplaceAllString(messages.Line(text), "$1$2 "), longestMessage)
}
