package kube

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
		"Short":     {"A message shorter than the limit is quoted unchanged.", errors.New("no"), "no"},
		"Exact":     {"A message as long as the limit is quoted unchanged.", errors.New("1234567890"), "1234567890"},
		"Long":      {"A message longer than the limit is truncated.", errors.New("12345678901"), "1234567…"},
		"InALetter": {"A message is truncated between two runes.", errors.New("123456789ä"), "1234567…"},
		"Unreachable": {"A connection error is replaced by a fixed message, since its changing port would cause a write each time.",
			fmt.Errorf("x: %w", &url.Error{Op: "Get", URL: "y", Err: errors.New(":1234")}), "the API server cannot be reached"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := ErrorMessage(tc.err, 10); got != tc.want {
				t.Errorf("%s\ngot %q; want %q", tc.reason, got, tc.want)
			}
		})
	}
}
