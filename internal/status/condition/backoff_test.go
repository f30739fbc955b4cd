package condition

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestBackOff(t *testing.T) {
	at := func(seconds int64) *metav1.Time { return new(metav1.Unix(seconds, 0)) }
	cases := map[string]struct {
		reason string
		since  *metav1.Time
		want   time.Duration
	}{
		"Unknown": {"A problem without a start time has just started.", nil, time.Second},
		"Now":     {"A new problem is retried after a second, since permissions are often granted soon.", at(10_000), time.Second},
		"Future":  {"A start time in the future, from a clock that is ahead, counts as new.", at(10_100), time.Second},
		"While":   {"A problem is retried after as long as it has lasted.", at(9_900), 100 * time.Second},
		"Long":    {"A problem is retried at least every ten minutes.", at(0), 10 * time.Minute},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := BackOff(tc.since, time.Unix(10_000, 0)); got != tc.want {
				t.Errorf("%s\ngot %s; want %s", tc.reason, got, tc.want)
			}
		})
	}
}
