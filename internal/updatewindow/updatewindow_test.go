package updatewindow

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
)

func at(t testing.TB, text string) time.Time {
	t.Helper()
	out, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func window(schedule string, duration time.Duration, zone string) holdv1alpha1.UpdateWindow {
	return holdv1alpha1.UpdateWindow{Schedule: schedule, Duration: metav1.Duration{Duration: duration}, TimeZone: zone}
}

func TestAt(t *testing.T) {
	night := window("0 2 * * *", 2*time.Hour, "")
	berlin := window("30 2 * * *", time.Hour, "Europe/Berlin")
	times := func(from, until string, windows ...holdv1alpha1.UpdateWindow) (out holdv1alpha1.HoldTerms) {
		if from != "" {
			out.From = new(metav1.NewTime(at(t, from)))
		}
		if until != "" {
			out.Until = new(metav1.NewTime(at(t, until)))
		}
		out.UpdateWindows = windows
		return out
	}
	holds := func(until string) State {
		if until == "" {
			return State{Holds: true}
		}
		return State{Holds: true, Changes: at(t, until)}
	}
	not := func(reason, until string) State {
		out := State{Reason: reason}
		if until != "" {
			out.Changes = at(t, until)
		}
		return out
	}
	cases := map[string]struct {
		reason string
		spec   holdv1alpha1.HoldTerms
		now    string
		want   State
	}{
		"Always":       {"Without times it holds until it is deleted.", times("", ""), "2026-11-28T06:00:00Z", holds("")},
		"Until":        {"It ends.", times("", "2026-12-01T00:00:00Z"), "2026-11-28T06:00:00Z", holds("2026-12-01T00:00:00Z")},
		"Expired":      {"It has ended at its end.", times("", "2026-12-01T00:00:00Z"), "2026-12-01T00:00:00Z", not("Expired", "")},
		"NotStarted":   {"It begins later.", times("2026-12-20T00:00:00Z", "2027-01-07T00:00:00Z"), "2026-11-28T06:00:00Z", not("NotStarted", "2026-12-20T00:00:00Z")},
		"Freeze":       {"It has begun at its beginning.", times("2026-12-20T00:00:00Z", "2027-01-07T00:00:00Z"), "2026-12-20T00:00:00Z", holds("2027-01-07T00:00:00Z")},
		"Closed":       {"It holds until a window opens.", times("", "", night), "2026-11-28T06:00:00Z", holds("2026-11-29T02:00:00Z")},
		"Open":         {"It does not hold while the window is open.", times("", "", night), "2026-11-28T02:00:00Z", not("UpdateWindow", "2026-11-28T04:00:00Z")},
		"LastSecond":   {"The window is open to the end.", times("", "", night), "2026-11-28T03:59:59Z", not("UpdateWindow", "2026-11-28T04:00:00Z")},
		"Closes":       {"It is closed at its end.", times("", "", night), "2026-11-28T04:00:00Z", holds("2026-11-29T02:00:00Z")},
		"EndsBefore":   {"A hold may end before the window opens.", times("", "2026-11-28T12:00:00Z", night), "2026-11-28T06:00:00Z", holds("2026-11-28T12:00:00Z")},
		"Overlapping":  {"Of two open windows, the last to close counts.", times("", "", night, window("0 3 * * *", 3*time.Hour, "")), "2026-11-28T03:00:00Z", not("UpdateWindow", "2026-11-28T06:00:00Z")},
		"Another":      {"Any window that is open counts.", times("", "", night, window("0 5 * * *", 3*time.Hour, "")), "2026-11-28T06:00:00Z", not("UpdateWindow", "2026-11-28T08:00:00Z")},
		"Midnight":     {"A window may last past midnight.", times("", "", window("0 23 * * 5", 3*time.Hour, "")), "2026-11-28T01:00:00Z", not("UpdateWindow", "2026-11-28T02:00:00Z")},
		"Zone":         {"A window opens by the clock of its time zone, in winter.", times("", "", window("0 2 * * *", time.Hour, "Europe/Berlin")), "2026-11-28T01:30:00Z", not("UpdateWindow", "2026-11-28T02:00:00Z")},
		"Summer":       {"And in summer.", times("", "", window("0 2 * * *", time.Hour, "Europe/Berlin")), "2026-07-01T00:30:00Z", not("UpdateWindow", "2026-07-01T01:00:00Z")},
		"SkippedHour":  {"A time that the change to summer time skips opens no window, but the next day does.", times("", "", berlin), "2026-03-29T01:30:00Z", holds("2026-03-30T00:30:00Z")},
		"RepeatedHour": {"A time that the change to winter time repeats opens the window.", times("", "", berlin), "2026-10-25T00:45:00Z", not("UpdateWindow", "2026-10-25T01:30:00Z")},
		"Again":        {"It opens again the second time.", times("", "", berlin), "2026-10-25T01:45:00Z", not("UpdateWindow", "2026-10-25T02:30:00Z")},
		"LeapDay":      {"A window may open on leap days only.", times("", "", window("0 2 29 2 *", time.Hour, "")), "2026-11-28T06:00:00Z", holds("2028-02-29T02:00:00Z")},
		"NeverOpens": {"A date that does not exist opens no window, which is reported.", times("", "", window("0 2 30 2 *", time.Hour, "")), "2026-11-28T06:00:00Z",
			State{Holds: true, Problem: `updateWindows has "0 2 30 2 *", which never opens: no such time in the next years`}},
		"Invalid": {"So does a schedule that is none, and other windows open.", times("", "", window("a b c d e", time.Hour, ""), night), "2026-11-28T06:00:00Z",
			State{Holds: true, Changes: at(t, "2026-11-29T02:00:00Z"), Problem: `updateWindows has "a b c d e", which never opens: failed to parse int from a: strconv.Atoi: parsing "a": invalid syntax`}},
		"NoZone": {"So does a time zone that does not exist.", times("", "", window("0 2 * * *", time.Hour, "Europe/Nowhere")), "2026-11-28T06:00:00Z",
			State{Holds: true, Problem: `updateWindows has "0 2 * * *", which never opens: unknown time zone Europe/Nowhere`}},
		"NoZoneYet": {"Also before it begins.", times("2026-12-20T00:00:00Z", "", window("0 2 * * *", time.Hour, "Europe/Nowhere")), "2026-11-28T06:00:00Z",
			State{
				Reason: "NotStarted", Changes: at(t, "2026-12-20T00:00:00Z"),
				Problem: `updateWindows has "0 2 * * *", which never opens: unknown time zone Europe/Nowhere`,
			}},
		"LocalZone": {"So does the local time zone.", times("", "", window("0 2 * * *", time.Hour, "Local")), "2026-11-28T06:00:00Z",
			State{Holds: true, Problem: `updateWindows has "0 2 * * *", which never opens: the local time zone is that of any machine`}},
		"ZoneInSchedule": {"So does a time zone in the schedule, which its parser may not survive.", times("", "", window("TZ=0 * * * *", time.Hour, "")), "2026-11-28T06:00:00Z",
			State{Holds: true, Problem: `updateWindows has "TZ=0 * * * *", which never opens: the time zone of a schedule is in timeZone`}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := At(tc.spec, at(t, tc.now))
			got.Changes = got.Changes.UTC()
			tc.want.Changes = tc.want.Changes.UTC()
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
		})
	}
}

// TestAtEveryMinute verifies for random windows that the state at each minute of some days is that of a clock that opens and closes the
// windows, and that each change is announced before.
func TestAtEveryMinute(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 10 {
		var spec holdv1alpha1.HoldTerms
		zone := []string{"", "Europe/Berlin", "America/New_York", "Asia/Kathmandu"}[r.IntN(4)]
		for range 1 + r.IntN(3) {
			schedule := fmt.Sprintf("%d %d * * %s", r.IntN(60), r.IntN(24), []string{"*", "1-5", "0,6", "*/2"}[r.IntN(4)])
			if r.IntN(4) == 0 {
				schedule = "*/20 * * * *"
			}
			spec.UpdateWindows = append(spec.UpdateWindows, window(schedule, time.Duration(1+r.IntN(24*60))*time.Minute, zone))
		}
		start := at(t, "2026-01-01T00:00:00Z").Add(time.Duration(r.IntN(365*24)) * time.Hour)
		closes := make([]time.Time, len(spec.UpdateWindows))
		var announced State
		for now := start.Add(-25 * time.Hour); now.Before(start.Add(72 * time.Hour)); now = now.Add(time.Minute) {
			holds := true
			for i, w := range spec.UpdateWindows {
				if opens(t, w, now) {
					closes[i] = now.Add(w.Duration.Duration)
				}
				holds = holds && !now.Before(closes[i])
			}
			if now.Before(start) {
				continue // windows that opened before are open
			}
			got := At(spec, now)
			if got.Holds != holds {
				t.Fatalf("at %s with %+v: got %+v, want %v", now, spec.UpdateWindows, got, holds)
			}
			if now.After(start) && got.Holds != announced.Holds && !announced.Changes.Equal(now) {
				t.Fatalf("at %s with %+v: a change was not announced by %+v", now, spec.UpdateWindows, announced)
			}
			announced = got
		}
	}
}

// opens reports whether a window opens in a minute.
func opens(t *testing.T, w holdv1alpha1.UpdateWindow, now time.Time) bool {
	t.Helper()
	zone, err := time.LoadLocation(w.TimeZone)
	if err != nil {
		t.Fatal(err)
	}
	schedule, err := parser.Parse(w.Schedule)
	if err != nil {
		t.Fatal(err)
	}
	return schedule.Next(now.Add(-time.Second).In(zone)).Equal(now)
}

func FuzzAt(f *testing.F) {
	f.Add("0 2 * * *", int64(3600), "Europe/Berlin")
	f.Add("TZ=0 * * * *", int64(1), "")
	f.Add("*/0 ? L W 9-1", int64(86400), "../../etc/passwd")
	f.Fuzz(func(t *testing.T, schedule string, seconds int64, zone string) {
		spec := holdv1alpha1.HoldTerms{UpdateWindows: []holdv1alpha1.UpdateWindow{window(schedule, time.Duration(seconds%86400)*time.Second, zone)}}
		now := at(t, "2026-11-28T06:00:00Z")
		if s := At(spec, now); !s.Changes.IsZero() && !s.Changes.After(now) {
			t.Errorf("%+v changes in the past: %+v", spec.UpdateWindows, s)
		}
	})
}

func BenchmarkAt(b *testing.B) {
	spec := holdv1alpha1.HoldTerms{UpdateWindows: []holdv1alpha1.UpdateWindow{window("* * * * *", 24*time.Hour, "")}}
	now := at(b, "2026-11-28T06:00:00Z")
	for b.Loop() {
		At(spec, now)
	}
}
