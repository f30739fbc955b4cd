package drift

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/json"
)

func TestWithin(t *testing.T) {
	for name, tc := range map[string]struct {
		reason          string
		desired, actual string
		want            bool
	}{
		"Same":      {"What is the same is within.", `{"a":[1,{"b":"c"}]}`, `{"a":[1,{"b":"c"}]}`, true},
		"Defaulted": {"The API server sets what was left out.", `{"a":1}`, `{"a":1,"b":2}`, true},
		"Emptied":   {"What says nothing is anywhere.", `{"a":"","b":null}`, `{}`, true},
		"Changed":   {"Another value is drift.", `{"a":1}`, `{"a":2}`, false},
		"Removed":   {"So is a field that is gone.", `{"a":1}`, `{}`, false},
		"Args":      {"An argument that somebody appended is drift.", `{"args":["a"]}`, `{"args":["a","b"]}`, false},
		"ArgsFewer": {"So is one that is gone.", `{"args":["a","b"]}`, `{"args":["a"]}`, false},
		"Rules":     {"So is a rule.", `{"rules":[{"verbs":["get"]}]}`, `{"rules":[{"verbs":["get"]},{"verbs":["*"]}]}`, false},
		"Subjects": {"So is a subject, though it has a name.", `{"subjects":[{"kind":"User","name":"a"}]}`,
			`{"subjects":[{"kind":"User","name":"a"},{"kind":"User","name":"b"}]}`, false},
		"Containers": {"Another container may be added beside ours, wherever.", `{"containers":[{"name":"a","image":"i"}]}`,
			`{"containers":[{"name":"b"},{"name":"a","image":"i"}]}`, true},
		"ContainerGone": {"But ours has to be there.", `{"containers":[{"name":"a"}]}`, `{"containers":[{"name":"b"}]}`, false},
		"ContainerEdit": {"And be as it was.", `{"containers":[{"name":"a","image":"i"}]}`, `{"containers":[{"name":"a","image":"j"}]}`, false},
		"Env":           {"A variable may be added, too.", `{"env":[{"name":"A","value":"1"}]}`, `{"env":[{"name":"A","value":"1"},{"name":"B","value":"2"}]}`, true},
		"Tolerations": {"A toleration may not: that list is written as a whole.", `{"tolerations":[{"key":"a"}]}`, `{"tolerations":[{"key":"a"},{"key":"b"}]}`,
			false},
	} {
		t.Run(name, func(t *testing.T) {
			var desired, actual any
			for text, into := range map[string]*any{tc.desired: &desired, tc.actual: &actual} {
				if err := json.Unmarshal([]byte(text), into); err != nil {
					t.Fatal(err)
				}
			}
			if tc.desired == tc.actual {
				desired = actual
			}
			if got := Within(desired, actual); got != tc.want {
				t.Errorf("%s\n%s within %s: %t", tc.reason, tc.desired, tc.actual, got)
			}
		})
	}
}
