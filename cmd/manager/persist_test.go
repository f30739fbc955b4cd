package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestNextPause(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		last   string
		ran    time.Duration
		want   time.Duration
	}{
		"First":    {"The first pause is short.", "", time.Second, firstPause},
		"Second":   {"Each is twice the one before.", "1", time.Second, 2 * time.Second},
		"Longest":  {"Up to a limit.", "60", time.Second, longestPause},
		"Settled":  {"What ran for a while begins anew.", "60", time.Hour, firstPause},
		"Mistyped": {"The environment may contain anything.", "-x", time.Second, firstPause},
		"Negative": {"Even this.", "-5", time.Second, firstPause},
		"Huge":     {"And this.", "1e300", time.Second, longestPause},
		"NaN":      {"And this.", "NaN", time.Second, firstPause},
	} {
		if got := nextPause(tc.last, tc.ran); got != tc.want {
			t.Errorf("%s: %s, want %s. %s", name, got, tc.want, tc.reason)
		}
	}
}

func TestOfAPIServer(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		err    error
		want   bool
	}{
		"Unreachable": {"It is started before the API server.", &url.Error{Op: "Get", Err: errors.New("connection refused")}, true},
		"Overloaded":  {"It may have less to do later.", apierrors.NewTooManyRequests("busy", 1), true},
		"Forbidden":   {"The permission may come with the rest of the installation.", apierrors.NewForbidden(schema.GroupResource{}, "", nil), true},
		"Late":        {"A cache is not filled in time.", fmt.Errorf("syncing: %w", context.DeadlineExceeded), true},
		"Flag":        {"A wrong flag stays wrong.", errors.New("unknown mode"), false},
		"Lease":       {"Another manager leads: this one ends.", errors.New("leader election lost"), false},
		"Port":        {"An address that is taken is for the administrator to change.", &net.OpError{Op: "listen", Err: errors.New("in use")}, false},
		"Invalid":     {"What the API server rejects it rejects again.", apierrors.NewBadRequest("no"), false},
	} {
		if got := ofAPIServer(tc.err); got != tc.want {
			t.Errorf("%s: %t. %s", name, got, tc.reason)
		}
	}
}
