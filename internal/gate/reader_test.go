package gate

import (
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestReaderLease(t *testing.T) {
	type call struct {
		at, renewed time.Duration // since the start; renewed on the holder's clock
		holder      string
	}
	const s, m = time.Second, time.Minute
	cases := map[string]struct {
		reason string
		calls  []call
		want   string // from the last call
	}{
		"Held":          {"The holder reads.", []call{{2 * s, 0, "one"}}, "one"},
		"LateRenewal":   {"The API server may be slow.", []call{{5 * s, 0, "one"}}, "one"},
		"Expired":       {"Its holder has ended, or is cut off.", []call{{6 * s, 0, "one"}}, NoReader},
		"Released":      {"A holder that ends in good order gives its lease back.", []call{{1 * s, 0, ""}}, NoReader},
		"OtherClock":    {"A holder whose clock is behind has to be seen renewing.", []call{{0, -m, "one"}}, NoReader},
		"SeenRenewing":  {"It renews, whatever its clock.", []call{{0, -m, "one"}, {2 * s, -m + 2*s, "one"}}, "one"},
		"SeenBefore":    {"Between two renewals it is still alive.", []call{{0, -m, "one"}, {2 * s, -m + 2*s, "one"}, {3 * s, -m + 2*s, "one"}}, "one"},
		"SeenLongSince": {"It renewed and ended since.", []call{{0, -m, "one"}, {2 * s, -m + 2*s, "one"}, {8 * s, -m + 2*s, "one"}}, NoReader},
		"RenewedUnseen": {"It renewed at some time in ten minutes, which does not mean that it still runs.", []call{{0, -m, "one"}, {10 * m, m, "one"}}, NoReader},
		"ClockAhead":    {"Its renewal looks recent for too long.", []call{{0, 20 * s, "one"}}, NoReader},
		"SlightlyAhead": {"Clocks differ by less than a second.", []call{{0, s / 2, "one"}}, "one"},
		"TwoAhead":      {"A clock that is ahead by more makes an ended holder look alive for longer.", []call{{0, 2 * s, "one"}}, NoReader},
		"AheadRenewing": {"It renews, whatever its clock.", []call{{0, 20 * s, "one"}, {2 * s, 22 * s, "one"}}, "one"},
		"TakenOver":     {"Another reads now.", []call{{0, 0, "one"}, {2 * s, 2 * s, "two"}}, "two"},
	}
	start := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			lease := &ReaderLease{}
			got := ""
			for _, c := range tc.calls {
				got = lease.Holder(&coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{
					HolderIdentity: &c.holder, RenewTime: &metav1.MicroTime{Time: start.Add(c.renewed)},
				}}, start.Add(c.at))
			}
			if got != tc.want {
				t.Errorf("%s\ngot %q; want %q", tc.reason, got, tc.want)
			}
		})
	}
	t.Run("NeverHeld", func(t *testing.T) {
		if got := (&ReaderLease{}).Holder(&coordinationv1.Lease{}, start); got != NoReader {
			t.Errorf("a Lease that was never held should have no reader\ngot %q", got)
		}
	})
}
