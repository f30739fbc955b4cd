package apply

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestInPhases(t *testing.T) {
	cases := map[string]struct {
		reason string
		items  []string // the first letter is the phase
		fails  []string
		phases [][]string // items that start at the same time, sorted
		err    string
	}{
		"Nothing":  {reason: "An empty list succeeds without a phase.", items: nil},
		"OnePhase": {reason: "The items of one phase run in parallel.", items: []string{"a1", "a2", "a3"}, phases: [][]string{{"a1", "a2", "a3"}}},
		"InOrder":  {reason: "The items of a phase wait for all items of the phase before it.", items: []string{"b1", "a1", "a2"}, phases: [][]string{{"b1"}, {"a1", "a2"}}},
		"Again": {reason: "The order of the items is kept: a later item of an earlier phase gets a phase of its own.", items: []string{"a1", "b1", "a2"},
			phases: [][]string{{"a1"}, {"b1"}, {"a2"}}},
		"Fails": {reason: "If an item fails, the items of its phase still run and those of later phases do not.", items: []string{"a1", "a2", "b1"}, fails: []string{"a1"},
			phases: [][]string{{"a1", "a2"}}, err: "a1"},
		"FailsOft": {reason: "If several items fail, the error of the first in order is returned.", items: []string{"a1", "a2", "a3"}, fails: []string{"a3", "a2"},
			phases: [][]string{{"a1", "a2", "a3"}}, err: "a2"},
		"Wide": {reason: "No more items run at once than the limit of parallel requests.", items: []string{"a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9"},
			phases: [][]string{{"a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8"}, {"a9"}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				done := map[time.Time][]string{}
				err := InPhases(tc.items, func(s string) byte { return s[0] }, func(s string) error {
					mu.Lock()
					done[time.Now()] = append(done[time.Now()], s)
					mu.Unlock()
					time.Sleep(time.Duration(10-s[1]+'0') * time.Second) // later items end earlier
					if slices.Contains(tc.fails, s) {
						return errors.New(s)
					}
					return nil
				})
				var got string
				if err != nil {
					got = err.Error()
				}
				if got != tc.err {
					t.Errorf("%s\nerror %q, want %q", tc.reason, got, tc.err)
				}
				if diff := cmp.Diff(tc.phases, inOrder(done)); diff != "" {
					t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
				}
			})
		})
	}
}

func inOrder(done map[time.Time][]string) (out [][]string) {
	var moments []time.Time
	for at := range done {
		moments = append(moments, at)
	}
	slices.SortFunc(moments, time.Time.Compare)
	for _, at := range moments {
		slices.Sort(done[at])
		out = append(out, done[at])
	}
	return out
}
