package csv

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// TestUseCases verifies the statuses of the three use cases in the proposal "CSV Reporting". Fields that the proposal
// does not print are not compared. Where it spells something in two ways (toward, towards; 1.0.0, v1.0.0; keys in upper
// case), this test has the spelling of its other statuses. Its reason CSVReasonRequirementsUnknown is the name of a Go
// constant, which OLM writes as RequirementsUnknown.
func TestUseCases(t *testing.T) {
	old := withHistory(etcd("1.0.0"), scheduling, succeeded)
	cases := map[string]struct {
		reason string
		in     Inputs
		want   string
	}{
		"1 installing": {
			reason: "A new operator is being installed and its requirements are being checked.",
			in:     Inputs{CSV: etcd("1.0.0"), Decision: scheduling},
			want: `
phase: Pending
conditions:
- type: Progressing
  status: "True"
  message: Working towards v1.0.0
- type: Available
  status: "False"
  reason: RequirementsUnknown
  message: Scheduling ClusterServiceVersion for requirement verification
version: null`,
		},
		"2 installed": {
			reason: "A new operator has been installed; no previous version existed.",
			in:     Inputs{CSV: withHistory(etcd("1.0.0"), scheduling), Decision: succeeded},
			want: `
phase: Succeeded
conditions:
- type: Progressing
  status: "False"
  message: Deployed version v1.0.0
  reason: null
- type: Available
  status: "True"
  reason: null
  message: null
version:
  name: etcd
  version: 1.0.0`,
		},
		"3 the one that is being replaced": {
			reason: "An operator is being updated: the status of the previous CSV.",
			in:     Inputs{CSV: withHistory(etcd("1.0.0"), scheduling, succeeded), Decision: replacing},
			want: `
phase: Replacing
conditions:
- type: Progressing
  status: "False"
- type: Available
  status: "False"
  reason: BeingReplaced
version:
  name: etcd
  version: 1.0.0`,
		},
		"3 the head": {
			reason: "An operator is being updated: the status of the new CSV.",
			in:     Inputs{CSV: etcd("2.0.0"), Replaced: old, Decision: scheduling},
			want: `
phase: Pending
conditions:
- type: Progressing
  status: "True"
  message: Working towards v2.0.0
- type: Available
  status: "False"
version:
  name: etcd
  version: 1.0.0`,
		},
		"3 the head, afterwards": {
			reason: "An operator has been updated.",
			in:     Inputs{CSV: withHistory(etcd("2.0.0"), scheduling), Replaced: withHistory(etcd("1.0.0"), succeeded, replacing), Decision: succeeded},
			want: `
phase: Succeeded
conditions:
- type: Progressing
  status: "False"
  message: Deployed version v2.0.0
- type: Available
  status: "True"
version:
  name: etcd
  version: 2.0.0`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.in.Now = now
			var want map[string]any
			if err := yaml.Unmarshal([]byte(tc.want), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, printed(want, asJSON(t, Compute(tc.in)))); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
		})
	}
}

// asJSON returns a status as a client reads it.
func asJSON(t *testing.T, status v1alpha1.ClusterServiceVersionStatus) any {
	data, err := json.Marshal(status)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// printed returns got without the fields that want does not have. It matches the elements of lists by type, in the
// order of want.
func printed(want, got any) any {
	switch want := want.(type) {
	case map[string]any:
		fields, _ := got.(map[string]any)
		out := map[string]any{}
		for key, value := range want {
			out[key] = printed(value, fields[key])
		}
		return out
	case []any:
		elements, _ := got.([]any)
		var out []any
		for _, w := range want {
			for _, g := range elements {
				if g.(map[string]any)["type"] == w.(map[string]any)["type"] {
					out = append(out, printed(w, g))
				}
			}
		}
		return out
	default:
		return got
	}
}
