package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPagesUpToDate verifies that docs/reference is up to date, and so contains each reason with its remedy.
func TestPagesUpToDate(t *testing.T) {
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
			reason: "The table of reasons has a cause and a remedy for each reason.",
			groups: all(group{doc: "Reasons of Synced on a Probe.", constants: []constant{
				{"ReasonForbidden", "Forbidden", "ReasonForbidden means that it may not read a|b in <namespace>. Remedy: grant `<verb>`."}}}),
			want: "### Reasons of Synced\n\nReasons of Synced on a Probe.\n\n| Reason | Cause | Remedy |\n|---|---|---|\n" +
				"| `Forbidden` | It may not read a\\|b in &lt;namespace&gt;. | Grant `<verb>`. |\n",
		},
		"Condition": {
			reason: "A condition type has a meaning and no remedy.",
			groups: all(group{doc: "Condition types of a Probe.", constants: []constant{{"ConditionSynced", "Synced", "ConditionSynced is True if it is read."}}}),
			want:   "| `Synced` | True if it is read. |\n",
		},
		"NoRemedy": {
			reason: "A reason without a remedy is an error.",
			groups: all(group{doc: "Reasons of Synced on a Probe.", constants: []constant{{"ReasonForbidden", "Forbidden", "ReasonForbidden means that it may not."}}}),
			err:    `the comment of ReasonForbidden has no "Remedy:"`,
		},
		"NoKind": {
			reason: "A comment of constants that names no kind is an error.",
			groups: all(group{doc: "Reasons of Synced.", constants: []constant{{"ReasonA", "A", "ReasonA means b. Remedy: c."}}}),
			err:    `names none of the kinds`,
		},
		"Neither": {
			reason: "A comment in a _conditions.go file that starts with neither Condition type nor Reason is an error.",
			groups: all(group{file: "probe_conditions.go", doc: "Why a Probe is not synced."}),
			err:    "neither Condition type nor Reason",
		},
		"NoConstants": {
			reason: "A kind without constants is an error.",
			err:    "no constants found for Probe",
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
