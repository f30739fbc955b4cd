package watch

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/operator-status/operator-status/internal/observed"
)

// silence is an API server that never responds, so a test can play the Reflector.
type silence struct{}

func (silence) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func silentEngine(t testing.TB) *Engine {
	t.Helper()
	e := New(&rest.Config{Host: "http://silence", Transport: silence{}}, logr.Discard())
	t.Cleanup(e.Close)
	return e
}

var foos = Target{Resource: schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "foos"}}

// script drives a source like its Reflector. Conditions of objects are written as "A=True B=False".
type script struct {
	reading
	numbers map[string]uint8
}

// scriptOf returns a script for the current reading of a Subscription's source.
func scriptOf(sub *Subscription) script {
	s := sub.source
	return script{reading: reading{source: s, round: s.round}, numbers: maps.Clone(s.plan.numbers)}
}

func (s script) object(name, conditions string) *object {
	var found []foundCondition
	for condition := range strings.FieldsSeq(conditions) {
		conditionType, status, _ := strings.Cut(condition, "=")
		number, ok := s.numbers[conditionType]
		if ok && !slices.ContainsFunc(found, func(f foundCondition) bool { return f.number == number }) {
			found = append(found, foundCondition{number: number, status: statusOf([]byte(status))})
		}
	}
	pattern := (&conditionReader{found: found}).appendPattern(nil, 0, 0)
	namespace, name, _ := strings.Cut(name, "/")
	return newObject(record{key: []byte(namespace + string(keySeparator) + name), pattern: string(pattern)})
}

func (s script) update(name, conditions string) { _ = s.Update(s.object(name, conditions)) }
func (s script) delete(name string)             { _ = s.Delete(s.object(name, "")) }

// replace replaces all objects, in that many pages.
func (s script) replace(pages int, objects map[string]string) {
	lists := make([]objectBatch, pages)
	i := 0
	for name, conditions := range objects {
		o := s.object(name, conditions)
		lists[i%pages].set(o.key, o.pattern)
		i++
	}
	items := make([]any, 0, pages)
	for i := range lists {
		items = append(items, &lists[i])
	}
	_ = s.Replace(items, "")
}

// judging returns a Judge that agrees with explain.
func judging(explain func([]observed.Condition) observed.Explanation) func([]observed.Condition) observed.Verdict {
	return func(conditions []observed.Condition) observed.Verdict {
		e := explain(conditions)
		return observed.Verdict{Blocks: e.Blocks != "", Important: e.Important != ""}
	}
}

func TestNotify(t *testing.T) {
	const urgent, counts = "urgent", "counts"
	type step struct {
		do   func(script)
		want []string
	}
	update := func(name, conditions string, want ...string) step {
		return step{func(s script) { s.update(name, conditions) }, want}
	}
	remove := func(name string, want ...string) step { return step{func(s script) { s.delete(name) }, want} }
	replace := func(objects map[string]string, want ...string) step {
		return step{func(s script) { s.replace(1, objects) }, want}
	}
	cases := map[string]struct {
		reason string
		steps  []step
	}{
		"first": {
			reason: "The end of the initial list is urgent, even if the list is empty.",
			steps:  []step{replace(nil, urgent)},
		},
		"held": {
			reason: "The first object that blocks and the last one are urgent.",
			steps: []step{
				replace(map[string]string{"n/a": "", "n/b": ""}, urgent),
				update("n/a", "Blocks=True", urgent), update("n/a", "", urgent),
				update("n/a", "Blocks=True", urgent), remove("n/a", urgent),
			},
		},
		"held by one more": {
			reason: "An object that blocks is urgent if it is listed, and otherwise changes only counts.",
			steps: []step{
				replace(map[string]string{"n/b": "", "n/c": "", "n/d": "", "n/e": ""}, urgent),
				update("n/c", "Blocks=True", urgent), update("n/b", "Blocks=True", urgent),
				update("n/d", "Blocks=True", counts), update("n/e", "Blocks=True", counts), update("n/e", "", counts),
				update("n/a", "Blocks=True", urgent),
			},
		},
		"held for another reason": {
			reason: "A changed message of a listed object is urgent.",
			steps: []step{replace(map[string]string{"n/a": "Blocks=True"}, urgent), update("n/a", "Blocks=True Tells=True", urgent),
				update("n/b", "Blocks=True Tells=True", urgent), update("n/b", "Blocks=True", counts)},
		},
		"important": {
			reason: "The first important object and the last one are urgent, and others change only counts.",
			steps: []step{
				replace(map[string]string{"n/a": "", "n/b": ""}, urgent),
				update("n/a", "Tells=True", urgent), update("n/b", "Tells=True", counts),
				update("n/b", "", counts), update("n/a", "", urgent),
			},
		},
		"counts": {
			reason: "An object that does not block changes only counts, except for the first and the last object.",
			steps:  []step{replace(nil, urgent), update("n/a", "", urgent), update("n/b", "", counts), remove("n/b", counts), remove("n/a", urgent)},
		},
		"irrelevant": {
			reason: "Nothing is notified for an event that changes no verdict.",
			steps: []step{
				replace(map[string]string{"n/a": "Blocks=True", "n/b": ""}, urgent),
				update("n/a", "Blocks=True"), update("n/a", "Blocks=True Idle=True"), update("n/a", "Idle=False Blocks=True"),
				update("n/b", "Idle=True"), update("n/b", "Blocks=False"), update("n/b", "Other=True"), remove("n/z"),
			},
		},
		"wrong and right": {
			reason: "A failure and its end are urgent once.",
			steps: []step{
				replace(nil, urgent),
				{func(s script) { s.failed(fmt.Errorf("forbidden")) }, []string{urgent}},
				{func(s script) { s.failed(fmt.Errorf("forbidden")) }, nil},
				{func(s script) { s.failed(fmt.Errorf("away")) }, []string{urgent}},
				{script.worked, []string{urgent}},
				{script.worked, nil},
			},
		},
		"stale": {
			reason: "Events of a list that has ended are ignored.",
			steps: []step{
				replace(nil, urgent),
				{func(s script) {
					s.round--
					s.update("n/a", "Blocks=True")
					s.delete("n/a")
					s.replace(1, map[string]string{"n/a": "Blocks=True"})
					s.failed(fmt.Errorf("forbidden"))
					s.worked()
				}, nil},
			},
		},
	}
	explain := func(conditions []observed.Condition) (out observed.Explanation) {
		for _, c := range conditions {
			switch {
			case c.Type == "Blocks" && c.Status == observed.True:
				out.Blocks = "Blocks is True"
			case c.Type == "Tells" && c.Status == observed.True:
				out.Important = "Tells is True"
			}
		}
		return out
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			sub, err := silentEngine(t).Subscribe(Request{
				Target: foos, Terms: []string{"Blocks", "Tells", "Idle"}, Listed: 2,
				Judge: judging(explain), Explain: explain,
				Notify: func(isUrgent bool) {
					if isUrgent {
						got = append(got, urgent)
					} else {
						got = append(got, counts)
					}
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			for i, step := range tc.steps {
				got = nil
				step.do(scriptOf(sub))
				if diff := gocmp.Diff(step.want, got, cmpopts.EquateEmpty()); diff != "" {
					t.Fatalf("%s\nstep %d: -want +got\n%s", tc.reason, i, diff)
				}
				sub.Snapshot() // otherwise it could not know the listed objects
			}
		})
	}
}

// TestAfterClose verifies that a closed Subscription is not notified, and keeps its last Snapshot.
func TestAfterClose(t *testing.T) {
	for name, end := range map[string]func(*Engine, *Subscription){
		"subscription": func(_ *Engine, sub *Subscription) { sub.Close() },
		"engine":       func(e *Engine, _ *Subscription) { e.Close() },
		"both":         func(e *Engine, sub *Subscription) { e.Close(); sub.Close(); e.Close(); sub.Close() },
		"both, the Subscription twice": func(e *Engine, sub *Subscription) {
			sub.Close()
			sub.Close()
			e.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			engine := silentEngine(t)
			notified := 0
			sub, err := engine.Subscribe(Request{
				Target: foos, Terms: []string{"A"}, Listed: 1, Notify: func(bool) { notified++ },
				Judge:   func([]observed.Condition) observed.Verdict { return observed.Verdict{Important: true} },
				Explain: func([]observed.Condition) observed.Explanation { return observed.Explanation{Important: "something"} },
			})
			if err != nil {
				t.Fatal(err)
			}
			s := scriptOf(sub)
			s.replace(1, map[string]string{"n/a": "A=True"})
			end(engine, sub)
			notified = 0
			s.update("n/b", "A=False")
			s.replace(1, nil)
			s.failed(fmt.Errorf("forbidden"))
			if notified > 0 {
				t.Errorf("notified %d times after the end", notified)
			}
			item := observed.Item{Namespace: "n", Name: "a", Explanation: observed.Explanation{Important: "something"}}
			want := observed.Snapshot{Filled: true, Counts: observed.Counts{Total: 1, Important: 1}, Items: []observed.Item{item}}
			if diff := gocmp.Diff(want, sub.Snapshot()); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
	engine := silentEngine(t)
	engine.Close()
	if _, err := engine.Subscribe(Request{Target: foos}); err == nil {
		t.Error("want an error of an engine that is closed")
	}
}
