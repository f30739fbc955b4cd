package watch

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/fieldpath"
	"github.com/google/go-cmp/cmp"

	"github.com/operator-status/operator-status/internal/observed"
)

// decodeTerms returns the terms that a custom resource has.
func decodeTerms(t *testing.T, text string, terms ...string) []observed.Condition {
	t.Helper()
	_, r, err := decoderOf(t, strings.NewReader(`{"type":"ADDED","object":`+text+`}`), terms...).event()
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return conditionsOf(r.pattern, terms)
}

func TestDecodeFields(t *testing.T) {
	stale := func(term string, s observed.Status) observed.Condition {
		return observed.Condition{Type: term, Status: s, Stale: true}
	}
	const running, current = `status.phase == "Running"`, `status.observedGeneration == metadata.generation`
	cases := map[string]struct {
		reason string
		object string
		terms  []string
		want   []observed.Condition
	}{
		"Phase":     {"A field of the status is compared.", `{"status":{"phase":"Running"}}`, []string{running}, conditions(has(running, observed.True))},
		"Order":     {"Comparisons follow the conditions.", `{"status":{"phase":"Failed","conditions":[{"type":"Ready","status":"True"}]}}`, []string{running, "Ready"}, conditions(has("Ready", observed.True), has(running, observed.False))},
		"Absent":    {"A field that is absent is not reported.", `{"status":{}}`, []string{running}, conditions()},
		"Null":      {"Null is absent.", `{"status":{"phase":null}}`, []string{running}, conditions()},
		"NoStatus":  {"A status of another type has no fields.", `{"status":"Running"}`, []string{running}, conditions()},
		"Object":    {"An object cannot be compared.", `{"status":{"phase":{"a":"Running"}}}`, []string{running}, conditions(has(running, observed.Unreadable))},
		"List":      {"A list cannot be compared.", `{"status":{"phase":["Running"]}}`, []string{running}, conditions(has(running, observed.Unreadable))},
		"Long":      {"A text longer than any that it could equal cannot be compared.", `{"status":{"phase":"` + strings.Repeat("x", 2000) + `"}}`, []string{running}, conditions(has(running, observed.Unreadable))},
		"Last":      {"Of members of the same name the last counts.", `{"status":{"phase":"Running","phase":"Failed"}}`, []string{running}, conditions(has(running, observed.False))},
		"LastTree":  {"A later object replaces an earlier one altogether.", `{"status":{"phase":"Running"},"status":{}}`, []string{running}, conditions()},
		"LastType":  {"A later value that is no object replaces an earlier one, too.", `{"spec":{"a":{"b":1}},"spec":{"a":2}}`, []string{"spec.a.b == 1"}, conditions()},
		"Escaped":   {"Names and texts may be escaped.", `{"st\u0061tus":{"ph\u0061se":"Runn\u0069ng"}}`, []string{running}, conditions(has(running, observed.True))},
		"Element":   {"An element of a list is compared.", `{"status":{"nodes":[{"s":"A"},{"s":"B"}]}}`, []string{`status.nodes[1].s == "B"`}, conditions(has(`status.nodes[1].s == "B"`, observed.True))},
		"NoElement": {"An element that is absent is not reported.", `{"status":{"nodes":[]}}`, []string{`status.nodes[1].s == "B"`}, conditions()},
		"Annotation": {"An annotation is compared.", `{"metadata":{"annotations":{"a.b/c":"d"}}}`, []string{`metadata.annotations[a.b/c] == "d"`},
			conditions(has(`metadata.annotations[a.b/c] == "d"`, observed.True))},
		"Namespace":  {"The namespace is compared.", `{"metadata":{"namespace":"a"}}`, []string{`metadata.namespace in ("a", "b")`}, conditions(has(`metadata.namespace in ("a", "b")`, observed.True))},
		"Spec":       {"A field of the spec is compared.", `{"spec":{"suspend":true}}`, []string{"spec.suspend == true"}, conditions(has("spec.suspend == true", observed.True))},
		"Parent":     {"A field and one below it can be compared.", `{"spec":{"a":{"b":1}}}`, []string{"spec.a == 1", "spec.a.b == 1"}, conditions(has("spec.a == 1", observed.Unreadable), has("spec.a.b == 1", observed.True))},
		"Current":    {"Two fields are compared, in any order.", `{"status":{"observedGeneration":2},"metadata":{"generation":2}}`, []string{current}, conditions(has(current, observed.True))},
		"NotCurrent": {"Whether the operator has observed the spec is never stale.", `{"metadata":{"generation":3},"status":{"observedGeneration":2}}`, []string{current}, conditions(has(current, observed.False))},
		"StaleField": {"A status of an older generation is stale.", `{"metadata":{"generation":3},"status":{"observedGeneration":2,"phase":"Running"}}`, []string{running}, []observed.Condition{stale(running, observed.True)}},
		"StaleCondition": {"A condition without a generation has that of the status.", `{"metadata":{"generation":3},"status":{"observedGeneration":2,"conditions":[{"type":"Ready","status":"True"}]}}`,
			[]string{"Ready"}, []observed.Condition{stale("Ready", observed.True)}},
		"OwnGeneration": {"The generation of a condition precedes that of the status.", `{"metadata":{"generation":3},"status":{"observedGeneration":2,"conditions":[{"type":"Ready","status":"True","observedGeneration":3}]}}`,
			[]string{"Ready"}, conditions(has("Ready", observed.True))},
		"SpecNotStale": {"A spec is never stale.", `{"metadata":{"generation":3},"status":{"observedGeneration":2},"spec":{"suspend":true}}`, []string{"spec.suspend == true"}, conditions(has("spec.suspend == true", observed.True))},
		"Reason": {"The reason of a condition is compared.", `{"status":{"conditions":[{"type":"Ready","status":"False","reason":"Paused"}]}}`, []string{"Ready", `Ready.reason == "Paused"`},
			conditions(has("Ready", observed.False), has(`Ready.reason == "Paused"`, observed.True))},
		"NoReason": {"A condition without a reason has another one.", `{"status":{"conditions":[{"type":"Ready","status":"False"}]}}`, []string{"Ready", `Ready.reason == "A"`},
			conditions(has("Ready", observed.False), has(`Ready.reason == "A"`, observed.False))},
		"NoCondition": {"That of a condition that is absent is not known.", `{"status":{"conditions":[{"type":"Other","status":"False"}]}}`, []string{"Ready", `Ready.reason == "A"`}, conditions()},
		"ReasonOnly":  {"A reason is compared if nothing needs the status.", `{"status":{"conditions":{"Ready":{"status":"Unknown","reason":"A"}}}}`, []string{"Ready", `Ready.reason == "A"`}, conditions(has("Ready", observed.Unknown), has(`Ready.reason == "A"`, observed.True))},
		"NewestReason": {"Of a condition that occurs twice, the reason of the newest counts.", `{"status":{"conditions":[
			{"type":"Ready","status":"True","reason":"A","lastTransitionTime":"2026-01-02T00:00:00Z"},{"type":"Ready","status":"True","reason":"B","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`,
			[]string{"Ready", `Ready.reason == "A"`}, conditions(has("Ready", observed.True), has(`Ready.reason == "A"`, observed.True))},
		"Settled":      {"A custom resource is settled once its status is about its spec.", `{"metadata":{"generation":3},"status":{"observedGeneration":3}}`, []string{"Settled"}, conditions(has("Settled", observed.True))},
		"NotSettled":   {"It is not settled before.", `{"metadata":{"generation":3},"status":{"observedGeneration":2}}`, []string{"Settled"}, conditions(has("Settled", observed.False))},
		"SettledBy":    {"Without a generation of the status, that of the newest condition counts.", `{"metadata":{"generation":3},"status":{"conditions":[{"type":"A","status":"True","observedGeneration":1},{"type":"B","status":"True","observedGeneration":3}]}}`, []string{"Settled"}, conditions(has("Settled", observed.True))},
		"NeverSettled": {"Whether a custom resource is settled that names no generation is unknown.", `{"metadata":{"generation":3},"status":{}}`, []string{"Settled"}, conditions()},
		"OwnSettled":   {"A condition of that name is the operator's own.", `{"metadata":{"generation":3},"status":{"observedGeneration":3,"conditions":[{"type":"Settled","status":"False"}]}}`, []string{"Settled"}, conditions(has("Settled", observed.False))},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, decodeTerms(t, tc.object, tc.terms...)); diff != "" {
				t.Errorf("%s\n%s: -want +got\n%s", tc.reason, tc.object, diff)
			}
		})
	}
}

// TestDecodeFieldsLikeFieldpath verifies that the decoder finds the values that Crossplane's fieldpath finds in random
// custom resources.
func TestDecodeFieldsLikeFieldpath(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	found := 0
	for range 3000 {
		path := randomPath(r)
		object := map[string]any{"metadata": map[string]any{}, "spec": randomValue(r, 4), "status": randomValue(r, 4)}
		text, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		term := path + ` == "x"`
		want := conditions()
		value, err := fieldpath.Pave(object).GetValue(path)
		switch v := value.(type) {
		case nil: // absent, or null
		case string:
			want = conditions(has(term, map[bool]observed.Status{true: observed.True, false: observed.False}[v == "x"]))
		default:
			want = conditions(has(term, observed.Unreadable))
		}
		if err == nil && value != nil {
			found++
		}
		if diff := cmp.Diff(want, decodeTerms(t, string(text), term)); diff != "" {
			t.Fatalf("%s of %s: -fieldpath +decoder\n%s", path, text, diff)
		}
	}
	if found < 300 {
		t.Errorf("only %d paths exist: too few for a comparison", found)
	}
}

func randomPath(r *rand.Rand) string {
	out := []string{"spec", "status"}[r.IntN(2)] + []string{".a", ".b"}[r.IntN(2)] // neither is a list
	for range r.IntN(3) {
		if r.IntN(3) == 0 {
			out += fmt.Sprintf("[%d]", r.IntN(2))
		} else {
			out += []string{".a", ".b", "[a]"}[r.IntN(3)]
		}
	}
	return out
}

func randomValue(r *rand.Rand, depth int) any {
	if depth == 0 || r.IntN(5) == 0 {
		return []any{"x", "y", 3, true, nil}[r.IntN(5)]
	}
	if r.IntN(3) == 0 {
		return []any{randomValue(r, depth-1), randomValue(r, depth-1)}
	}
	return map[string]any{"a": randomValue(r, depth-1), "b": randomValue(r, depth-1)}
}
