package kube

import (
	"context"
	"errors"
	"net/url"

	"github.com/operator-status/operator-status/internal/messages"
)

// ErrorMessage returns the text of an error for a condition, of at most limit bytes. A connection error is replaced by a
// fixed text, since it contains a port that differs each time.
func ErrorMessage(err error, limit int) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return "the API server did not answer in time"
	}
	if _, ok := errors.AsType[*url.Error](err); ok {
		return "the API server cannot be reached"
	}
	return messages.Clip(messages.Line(err.Error()), limit)
}
