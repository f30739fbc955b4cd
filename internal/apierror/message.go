// Package apierror classifies the errors of the API server, and quotes them so that the same error is the same text each time.
package apierror

import (
	"errors"
	"net/url"

	"github.com/operator-status/operator-status/internal/messages"
)

// Message returns an error as a condition quotes it: without ports, which differ each time, and of at most that many bytes.
func Message(err error, limit int) string {
	if _, ok := errors.AsType[*url.Error](err); ok {
		return "the API server cannot be reached"
	}
	return messages.Clip(err.Error(), limit)
}
