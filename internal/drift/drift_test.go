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
		"Same":      {"Equal objects have no drift.", `{"a":[1,{"b":"c"}]}`, `{"a":[1,{"b":"c"}]}`, true},
		"Defaulted": {"A field that the API server defaulted is no drift.", `{"a":1}`, `{"a":1,"b":2}`, true},
		"Emptied":   {"An empty desired field is no drift if it is missing.", `{"a":"","b":null}`, `{}`, true},
		"Changed":   {"A changed value is drift.", `{"a":1}`, `{"a":2}`, false},
		"Removed":   {"A missing field is drift.", `{"a":1}`, `{}`, false},
		"Args":      {"An appended argument is drift.", `{"args":["a"]}`, `{"args":["a","b"]}`, false},
		"ArgsFewer": {"A removed argument is drift.", `{"args":["a","b"]}`, `{"args":["a"]}`, false},
		"Rules":     {"An added rule is drift.", `{"rules":[{"verbs":["get"]}]}`, `{"rules":[{"verbs":["get"]},{"verbs":["*"]}]}`, false},
		"Subjects": {"An added subject is drift, although subjects have names.", `{"subjects":[{"kind":"User","name":"a"}]}`,
			`{"subjects":[{"kind":"User","name":"a"},{"kind":"User","name":"b"}]}`, false},
		"Containers": {"An added container is no drift, whatever its position.", `{"containers":[{"name":"a","image":"i"}]}`,
			`{"containers":[{"name":"b"},{"name":"a","image":"i"}]}`, true},
		"ContainerGone": {"A missing container is drift.", `{"containers":[{"name":"a"}]}`, `{"containers":[{"name":"b"}]}`, false},
		"ContainerEdit": {"A changed container is drift.", `{"containers":[{"name":"a","image":"i"}]}`, `{"containers":[{"name":"a","image":"j"}]}`, false},
		"Env":           {"An added environment variable is no drift.", `{"env":[{"name":"A","value":"1"}]}`, `{"env":[{"name":"A","value":"1"},{"name":"B","value":"2"}]}`, true},
		"Tolerations": {"An added toleration is drift, since that list is written as a whole.", `{"tolerations":[{"key":"a"}]}`, `{"tolerations":[{"key":"a"},{"key":"b"}]}`,
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
