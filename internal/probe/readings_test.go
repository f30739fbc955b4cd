package probe

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/watch"
)

// TestOverdraws: no Probe has so many watches that nothing is left for those of others.
func TestOverdraws(t *testing.T) {
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
		says                      string // empty for enough
	}{
		"First":          {"What fits is read.", 0, 0, 0, 10, ""},
		"Own":            {"What it has already it need not have twice.", 10, 0, 0, 10, ""},
		"TooMany":        {"One that wants more than a namespace has is not read.", 0, 0, 0, 11, "11 watches, and 10 of the 10 for the Probes of a namespace"},
		"Beside":         {"Those of a namespace share.", 0, 6, 0, 5, "5 watches, and 4 of the 10 for the Probes of a namespace"},
		"OtherNamespace": {"Others' do not matter there.", 0, 0, 10, 10, ""},
		"All":            {"But all have to fit.", 0, 0, 18, 3, "3 watches, and 2 of the 20 for all Probes"},
	} {
		t.Run(name, func(t *testing.T) {
			probe := types.NamespacedName{Namespace: "default", Name: "foo"}
			r := &readings{budget: budget{namespace: 10, all: 20}, byProbe: map[types.NamespacedName]map[reading]*watch.Subscription{
				probe:                                 kept(tc.own),
				{Namespace: "default", Name: "bar"}:   kept(tc.beside),
				{Namespace: "elsewhere", Name: "foo"}: kept(tc.others),
			}}
			got := r.overdraws(probe, tc.want)
			if (got == nil) != (tc.says == "") || got != nil && (got.Reason != v1alpha1.ReasonTooManyWatches || !strings.Contains(got.Message, tc.says)) {
				t.Errorf("%s: %+v", tc.reason, got)
			}
		})
	}
}
