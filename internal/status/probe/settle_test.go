package probe

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/observed"
)

// TestSettle follows a Probe with a settle of 10 s through a series of readings.
func TestSettle(t *testing.T) {
	allows, blocks, none := observed.Counts{Total: 2}, observed.Counts{Total: 2, Blocking: 1}, observed.Counts{}
	steps := []struct {
		reason    string
		at        int64
		counts    observed.Counts
		unread    bool
		version   string
		reader    string
		restarted bool
		unsettled bool // without spec.settle
		want      string
		settlesIn time.Duration
	}{
		{reason: "A first reading begins to settle.", at: 100, counts: allows, want: "False/Settling", settlesIn: 10 * time.Second},
		{reason: "It continues.", at: 106, counts: allows, want: "False/Settling", settlesIn: 4 * time.Second},
		{reason: "It ends.", at: 110, counts: allows, want: "True/AllUpgradeable"},
		{reason: "It has ended.", at: 500, counts: allows, want: "True/AllUpgradeable"},
		{reason: "A custom resource blocks.", at: 510, counts: blocks, want: "False/NotUpgradeable"},
		{reason: "It begins again.", at: 520, counts: allows, want: "False/Settling", settlesIn: 10 * time.Second},
		{reason: "Nothing settles while nothing is known, and it does not end by itself.", at: 525, unread: true, want: "Unknown/NotRead"},
		{reason: "Nor does what was known before count.", at: 540, counts: allows, want: "False/Settling", settlesIn: 10 * time.Second},
		{reason: "It ends once more.", at: 560, counts: allows, want: "True/AllUpgradeable"},
		{reason: "Another process begins again: nobody may have read in between.", at: 570, counts: allows, reader: "b", want: "False/Settling",
			settlesIn: 10 * time.Second},
		{reason: "It goes on with that one.", at: 576, counts: allows, reader: "b", want: "False/Settling", settlesIn: 4 * time.Second},
		{reason: "And ends.", at: 580, counts: allows, reader: "b", want: "True/AllUpgradeable"},
		{reason: "A pod that restarts has the same name.", at: 585, counts: allows, reader: "b", restarted: true, want: "False/Settling",
			settlesIn: 10 * time.Second},
		{reason: "It ends there, too.", at: 596, counts: allows, reader: "b", want: "True/AllUpgradeable"},
		{reason: "Another version begins again.", at: 600, counts: allows, reader: "b", version: "b", want: "False/Settling", settlesIn: 10 * time.Second},
		{reason: "Without custom resources there is nothing to wait for.", at: 601, counts: none, version: "b", want: "True/NoResources"},
		{reason: "Without spec.settle neither.", at: 602, counts: allows, version: "b", unsettled: true, want: "True/AllUpgradeable"},
	}
	probe := &v1alpha1.Probe{Spec: &v1alpha1.ProbeSpec{}}
	for _, step := range steps {
		probe.Spec.Settle = &metav1.Duration{Duration: 10 * time.Second}
		if step.unsettled {
			probe.Spec.Settle = nil
		}
		resource := Resource{CRD: "foos.example.com", Kind: "Foo", Read: []Read{{Snapshot: observed.Snapshot{Filled: !step.unread, Counts: step.counts}}}}
		now := metav1.NewTime(time.Unix(step.at, 123))
		in := Inputs{Probe: probe, Version: step.version, Reader: step.reader, Restarted: step.restarted, Resources: []Resource{resource}, Now: now}
		got := Compute(in)
		c := meta.FindStatusCondition(got.Conditions, v1alpha1.ConditionUpgradeable)
		if c == nil || string(c.Status)+"/"+c.Reason != step.want {
			t.Errorf("%s at %d: got %+v, want %s", step.reason, step.at, c, step.want)
		}
		if wait := AllowsIn(probe.Spec, got, time.Unix(step.at, 0)); wait != step.settlesIn {
			t.Errorf("%s at %d: it settles in %s, want %s", step.reason, step.at, wait, step.settlesIn)
		}
		probe.Status = got
	}
	if probe.Status.AllowedSince != nil || probe.Status.ObservedVersion != "" {
		t.Errorf("without spec.settle, the status has %+v", probe.Status)
	}
}
