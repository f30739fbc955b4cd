package probe

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/expression"
	"github.com/operator-status/operator-status/internal/observed"
	"github.com/operator-status/operator-status/internal/operand"
	probestatus "github.com/operator-status/operator-status/internal/status/probe"
	"github.com/operator-status/operator-status/internal/watch"
)

// TestExceedsBudget verifies that no Probe uses up the watches of others.
func TestExceedsBudget(t *testing.T) {
	kept := func(n int) map[reading]*watch.Subscription {
		out := map[reading]*watch.Subscription{}
		for i := range n {
			out[reading{upgradeable: fmt.Sprint(i)}] = nil
		}
		return out
	}
	for name, tc := range map[string]struct {
		reason                    string
		own, beside, others, want int
		message                   string // empty if allowed
	}{
		"First":          {"A Probe within the limit of the namespace is read.", 0, 0, 0, 10, ""},
		"Own":            {"Watches that the Probe already has are not counted twice.", 10, 0, 0, 10, ""},
		"TooMany":        {"A Probe with more watches than the limit of the namespace is not read.", 0, 0, 0, 11, "11 watches, but only 10 of the 10 for the Probes of a namespace"},
		"Beside":         {"The Probes of a namespace share the limit.", 0, 6, 0, 5, "5 watches, but only 4 of the 10 for the Probes of a namespace"},
		"OtherNamespace": {"Probes of other namespaces do not count toward the limit of a namespace.", 0, 0, 10, 10, ""},
		"All":            {"All Probes share the overall limit.", 0, 0, 18, 3, "3 watches, but only 2 of the 20 for all Probes"},
	} {
		t.Run(name, func(t *testing.T) {
			probe := types.NamespacedName{Namespace: "default", Name: "foo"}
			r := &readings{budget: budget{namespace: 10, all: 20}, byProbe: map[types.NamespacedName]map[reading]*watch.Subscription{
				probe:                                 kept(tc.own),
				{Namespace: "default", Name: "bar"}:   kept(tc.beside),
				{Namespace: "elsewhere", Name: "foo"}: kept(tc.others),
			}}
			got := r.exceedsBudget(probe, tc.want)
			if (got == nil) != (tc.message == "") || got != nil && (got.Reason != v1alpha1.ReasonTooManyWatches || !strings.Contains(got.Message, tc.message)) {
				t.Errorf("%s: %+v", tc.reason, got)
			}
		})
	}
}

// neverAnswers is an API server that never responds, for tests that only check requests.
type neverAnswers struct{}

func (neverAnswers) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// TestTooManyConditions verifies that Probes that read a resource as the same account share the limit on condition
// types.
func TestTooManyConditions(t *testing.T) {
	engine := watch.New(&rest.Config{Host: "http://silence", Transport: neverAnswers{}}, logr.Discard())
	t.Cleanup(engine.Close)
	r := &readings{reader: engine, notify: func(types.NamespacedName, bool) {}, byProbe: map[types.NamespacedName]map[reading]*watch.Subscription{}}
	// names returns n condition types, numbered from that number on.
	names := func(from, n int) string {
		var out []string
		for i := range n {
			out = append(out, fmt.Sprintf("%03d", from+i))
		}
		return strings.Join(out, "&&")
	}
	target := watch.Target{Resource: schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "foos"}}
	for _, step := range []struct {
		reason, probe string
		expressions   []string
		refused       int
	}{
		{"The conditions of the first Probe are within the limit.", "a", []string{names(0, 200)}, 0},
		{"Conditions of another Probe beyond the limit are refused.", "b", []string{names(200, 200)}, 1},
		{"Conditions that are already watched do not count again.", "c", []string{names(0, 200)}, 0},
		{"An expression within the limit is read although another is refused.", "b", []string{names(200, 200), names(200, 50)}, 1},
		{"A refused expression is tried again.", "b", []string{names(200, 200), names(200, 50)}, 1},
		{"A Probe releases its conditions when it is deleted.", "c", nil, 0},
		{"A Probe can replace its own conditions.", "a", []string{names(400, 200)}, 0},
		{"An expression stays refused while the limit is reached.", "b", []string{names(200, 200), names(200, 50)}, 1},
		{"The last Probe with certain conditions releases them.", "a", nil, 0},
		{"All expressions are read after the other Probes were deleted.", "b", []string{names(200, 200), names(200, 50)}, 0},
	} {
		wanted := map[reading]probestatus.Expressions{}
		for _, text := range step.expressions {
			wanted[reading{target: target, upgradeable: text}] = probestatus.Expressions{Upgradeable: valid(expression.Parse(text))}
		}
		now, refused, err := r.keep(types.NamespacedName{Namespace: "default", Name: step.probe}, wanted)
		if err != nil || len(refused) != step.refused || len(now) != len(wanted)-step.refused {
			t.Fatalf("%s\n%d are read, %d refused: %v", step.reason, len(now), len(refused), err)
		}
		for key, err := range refused {
			p := operand.ReadProblem(key.target, observed.Snapshot{Err: err})
			if p.Reason != v1alpha1.ReasonTooManyConditions || !strings.Contains(p.Message, "more than 256 conditions") {
				t.Errorf("%s\n%+v", step.reason, p)
			}
		}
	}
}

func valid(e *expression.Expression, err error) *expression.Expression {
	if err != nil {
		panic(err)
	}
	return e
}
