package apierror

import (
	"errors"
	"fmt"
	"net/url"
	"testing"
)

func TestMessage(t *testing.T) {
	cases := map[string]struct {
		reason string
		err    error
		want   string
	}{
		"Short":     {"What fits is quoted as it is.", errors.New("no"), "no"},
		"Exact":     {"So is what just fits.", errors.New("1234567890"), "1234567890"},
		"Long":      {"What does not is cut.", errors.New("12345678901"), "1234567…"},
		"InALetter": {"A letter is not cut in two.", errors.New("123456789ä"), "1234567…"},
		"Unreachable": {"A port that differs each time would make for a write without news.",
			fmt.Errorf("x: %w", &url.Error{Op: "Get", URL: "y", Err: errors.New(":1234")}), "the API server cannot be reached"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Message(tc.err, 10); got != tc.want {
				t.Errorf("%s\ngot %q; want %q", tc.reason, got, tc.want)
			}
		})
	}
}
