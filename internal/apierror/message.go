// Package apierror classifies errors of the API server, and formats them stably: the same error always has the same text.
package apierror

import (
	"context"
	"errors"
	"net/url"

	"github.com/operator-status/operator-status/internal/messages"
)

// Message returns the text of an error for a condition, of at most limit bytes. A connection error is replaced by a
// fixed text, since it contains a port that differs each time.
func Message(err error, limit int) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return "the API server did not answer in time"
	}
	if _, ok := errors.AsType[*url.Error](err); ok {
		return "the API server cannot be reached"
	}
	return messages.Clip(messages.Line(err.Error()), limit)
}
