package probe

import (
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/observed"
)

// TestYield follows a Probe with a yieldAfter of 10 s, and a settle of 5 s, through a series of readings.
func TestYield(t *testing.T) {
	allows, blocks := observed.Counts{Total: 2}, observed.Counts{Total: 2, Blocking: 1}
	steps := []struct {
		reason   string
		at       int64
		counts   observed.Counts
		unread   bool
		err      error
		version  string
		reader   string
		never    bool // without spec.yieldAfter
		want     string
		words    string
		allowsIn time.Duration
	}{
		{reason: "It begins to block.", at: 100, counts: blocks, want: "False/NotUpgradeable",
			words: "Without interruption, this holds the update until 1970-01-01T00:01:50Z", allowsIn: 10 * time.Second},
		{reason: "It goes on.", at: 106, counts: blocks, want: "False/NotUpgradeable", allowsIn: 4 * time.Second},
		{reason: "A restart does not begin again.", at: 107, unread: true, want: "False/NotUpgradeable", allowsIn: 3 * time.Second},
		{reason: "Nor does another process, once it has read.", at: 108, counts: blocks, reader: "b", want: "False/NotUpgradeable", allowsIn: 2 * time.Second},
		{reason: "What can no longer be read does not yield, and time alone does not end that.", at: 110, counts: blocks, err: errors.New("no answer"),
			want: "False/NotUpgradeable", words: "This holds the update until all custom resources can be read"},
		{reason: "The time is over, and nothing settles while it blocks.", at: 110, counts: blocks, want: "True/Yielded",
			words: "The update is allowed after 10s, although it was held since 1970-01-01T00:01:40Z"},
		{reason: "Nor does one after that.", at: 111, unread: true, want: "True/Yielded"},
		{reason: "Nor does it if it can no longer be read.", at: 111, counts: blocks, err: errors.New("no answer"), want: "True/Yielded"},
		{reason: "Nor does another process.", at: 111, counts: blocks, reader: "b", want: "True/Yielded"},
		{reason: "It is read again.", at: 112, counts: blocks, want: "True/Yielded"},
		{reason: "Another version does.", at: 120, counts: blocks, version: "b", want: "False/NotUpgradeable", allowsIn: 10 * time.Second},
		{reason: "Nothing blocks any longer, and it settles.", at: 125, counts: allows, version: "b", want: "False/Settling", allowsIn: 5 * time.Second},
		{reason: "Then it blocks anew.", at: 131, counts: blocks, version: "b", want: "False/NotUpgradeable", allowsIn: 10 * time.Second},
		{reason: "And yields.", at: 150, counts: blocks, version: "b", want: "True/Yielded"},
		{reason: "Unless it must not.", at: 151, counts: blocks, version: "b", never: true, want: "False/NotUpgradeable"},
	}
	probe := &v1alpha1.Probe{Spec: &v1alpha1.ProbeSpec{Settle: &metav1.Duration{Duration: 5 * time.Second}}}
	for _, step := range steps {
		probe.Spec.YieldAfter = &metav1.Duration{Duration: 10 * time.Second}
		if step.never {
			probe.Spec.YieldAfter = nil
		}
		read := Read{Snapshot: observed.Snapshot{Filled: !step.unread, Counts: step.counts, Err: step.err}}
		resource := Resource{CRD: "foos.example.com", Kind: "Foo", Read: []Read{read}}
		now := metav1.NewTime(time.Unix(step.at, 123))
		in := Inputs{Probe: probe, Version: step.version, Reader: step.reader, Resources: []Resource{resource}, Now: now}
		got := Compute(in)
		c := meta.FindStatusCondition(got.Conditions, v1alpha1.ConditionUpgradeable)
		if c == nil || string(c.Status)+"/"+c.Reason != step.want || !strings.Contains(c.Message, step.words) {
			t.Errorf("%s at %d: got %+v, want %s and %q", step.reason, step.at, c, step.want, step.words)
		}
		if wait := AllowsIn(probe.Spec, got, time.Unix(step.at, 0)); wait != step.allowsIn {
			t.Errorf("%s at %d: it allows the update in %s, want %s", step.reason, step.at, wait, step.allowsIn)
		}
		probe.Status = got
	}
	if probe.Status.BlockedSince != nil {
		t.Errorf("without spec.yieldAfter, the status has %+v", probe.Status)
	}
}
