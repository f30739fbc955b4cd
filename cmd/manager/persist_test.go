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
		"Second":   {"Each pause is twice as long as the one before.", "1", time.Second, 2 * time.Second},
		"Longest":  {"The pause is limited.", "60", time.Second, longestPause},
		"Settled":  {"The pause is reset after the manager ran for a while.", "60", time.Hour, firstPause},
		"Mistyped": {"A value that is not a number is ignored.", "-x", time.Second, firstPause},
		"Negative": {"A negative value is ignored.", "-5", time.Second, firstPause},
		"Huge":     {"A huge value is limited.", "1e300", time.Second, longestPause},
		"NaN":      {"NaN is ignored.", "NaN", time.Second, firstPause},
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
		"Unreachable": {"An unreachable API server is retried, since the manager may start first.", &url.Error{Op: "Get", Err: errors.New("connection refused")}, true},
		"Overloaded":  {"An overloaded API server is retried.", apierrors.NewTooManyRequests("busy", 1), true},
		"Forbidden":   {"A missing permission is retried, since the installation may still create it.", apierrors.NewForbidden(schema.GroupResource{}, "", nil), true},
		"Late":        {"A cache that does not sync in time is retried.", fmt.Errorf("syncing: %w", context.DeadlineExceeded), true},
		"Flag":        {"An invalid flag is not retried.", errors.New("unknown mode"), false},
		"Lease":       {"A lost leader election is not retried.", errors.New("leader election lost"), false},
		"Port":        {"An address in use is not retried, since an administrator has to change it.", &net.OpError{Op: "listen", Err: errors.New("in use")}, false},
		"Invalid":     {"A request that the API server rejected as invalid is not retried.", apierrors.NewBadRequest("no"), false},
	} {
		if got := ofAPIServer(tc.err); got != tc.want {
			t.Errorf("%s: %t. %s", name, got, tc.reason)
		}
	}
}
