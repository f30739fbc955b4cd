package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCurrent verifies that docs/reference is up to date, and so contains each reason with its remedy.
func TestCurrent(t *testing.T) {
	pages, err := generate("../..")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range pages {
		got, err := os.ReadFile(filepath.Join("../../docs/reference", name))
		if err != nil {
			t.Error(err)
			continue
		}
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("%s is out of date: run 'make generate' (-want +got)\n%s", name, diff)
		}
	}
}

func TestConditionsPage(t *testing.T) {
	all := func(groups ...group) []group {
		for _, kind := range kinds {
			doc := "Reasons of Other on a " + kind + "."
			if kind == events {
				doc = "Reasons of Events."
			}
			groups = append(groups, group{doc: doc})
		}
		return groups
	}
	cases := map[string]struct {
		reason string
		groups []group
		want   string // in the page
		err    string // in the error
	}{
		"Reason": {
			reason: "A reason has its cause and its remedy.",
			groups: all(group{doc: "Reasons of Synced on a Probe.", constants: []constant{
				{"ReasonForbidden", "Forbidden", "ReasonForbidden means that it may not read a|b in <namespace>. Remedy: grant `<verb>`."}}}),
			want: "### Reasons of Synced\n\nReasons of Synced on a Probe.\n\n| Reason | Cause | Remedy |\n|---|---|---|\n" +
				"| `Forbidden` | It may not read a\\|b in &lt;namespace&gt;. | Grant `<verb>`. |\n",
		},
		"Condition": {
			reason: "A condition needs no remedy.",
			groups: all(group{doc: "Condition types of a Probe.", constants: []constant{{"ConditionSynced", "Synced", "ConditionSynced is True if it is read."}}}),
			want:   "| `Synced` | True if it is read. |\n",
		},
		"NoRemedy": {
			reason: "Without a remedy, a reason does not help the admin who reads it.",
			groups: all(group{doc: "Reasons of Synced on a Probe.", constants: []constant{{"ReasonForbidden", "Forbidden", "ReasonForbidden means that it may not."}}}),
			err:    `the comment of ReasonForbidden has no "Remedy:"`,
		},
		"NoKind": {
			reason: "A reason whose kind is not known cannot be listed.",
			groups: all(group{doc: "Reasons of Synced.", constants: []constant{{"ReasonA", "A", "ReasonA means b. Remedy: c."}}}),
			err:    `names none of the kinds`,
		},
		"Neither": {
			reason: "Constants of conditions do not miss from the page because their comment begins otherwise.",
			groups: all(group{file: "probe_conditions.go", doc: "Why a Probe is not synced."}),
			err:    "neither Condition type nor Reason",
		},
		"NoConstants": {
			reason: "A kind that lost its constants is reported.",
			err:    "there are no constants for Probe",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := conditionsPage(tc.groups)
			if (err != nil) != (tc.err != "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Fatalf("%s\nerror %v, want %q", tc.reason, err, tc.err)
			}
			if !strings.Contains(got, tc.want) {
				t.Errorf("%s\n%q is not in\n%s", tc.reason, tc.want, got)
			}
		})
	}
}
