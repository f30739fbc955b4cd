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
		"Nothing": {reason: "Nothing to do is done.", items: nil},
		"OneWave": {reason: "What is of one wave is done at once.", items: []string{"a1", "a2", "a3"}, phases: [][]string{{"a1", "a2", "a3"}}},
		"InOrder": {reason: "One wave waits for the one before it.", items: []string{"b1", "a1", "a2"}, phases: [][]string{{"b1"}, {"a1", "a2"}}},
		"Again": {reason: "The order of the items is kept: what comes later is a wave of its own.", items: []string{"a1", "b1", "a2"},
			phases: [][]string{{"a1"}, {"b1"}, {"a2"}}},
		"Fails": {reason: "Those beside it are done, those after it are not.", items: []string{"a1", "a2", "b1"}, fails: []string{"a1"},
			phases: [][]string{{"a1", "a2"}}, err: "a1"},
		"FailsOft": {reason: "The first in order is reported, whichever failed first.", items: []string{"a1", "a2", "a3"}, fails: []string{"a3", "a2"},
			phases: [][]string{{"a1", "a2", "a3"}}, err: "a2"},
		"Wide": {reason: "Not more is begun than the API server answers at once.", items: []string{"a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9"},
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
