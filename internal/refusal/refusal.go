// Package refusal puts the errors of the API server into words that stay the same from one try to the next.
package refusal

import (
	"errors"
	"net/url"
	"strings"
)

// Words are an error as a message quotes it: without ports, which differ each time, and of at most that many bytes.
func Words(err error, limit int) string {
	if _, ok := errors.AsType[*url.Error](err); ok {
		return "the API server cannot be reached"
	}
	text := err.Error()
	if len(text) > limit {
		text = strings.ToValidUTF8(text[:limit], "") + "…"
	}
	return text
}
