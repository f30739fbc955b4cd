package workloads

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestIndexedAfterFailure verifies that the cache gets each index once, whichever of them could not be added at first: the API server
// may not answer, and another try is needed.
func TestIndexedAfterFailure(t *testing.T) {
	for fails := range accountIndexes() {
		t.Run(fmt.Sprint(fails), func(t *testing.T) {
			c := &failing{at: fails}
			r := &indexes{missing: accountIndexes()}
			if err := r.add(t.Context(), c); err == nil {
				t.Fatal("no error")
			}
			for range 2 {
				if err := r.add(t.Context(), c); err != nil {
					t.Fatal(err)
				}
			}
			slices.Sort(c.added)
			if distinct := slices.Compact(slices.Clone(c.added)); len(c.added) != len(accountIndexes()) || len(distinct) != len(c.added) {
				t.Errorf("the indexes are %v", c.added)
			}
		})
	}
}

// failing is a cache to which an index cannot be added at the first try.
type failing struct {
	cache.Cache
	at    int
	added []string
}

func (f *failing) IndexField(_ context.Context, of client.Object, name string, _ client.IndexerFunc) error {
	if f.at--; f.at == -1 {
		return errors.New("the API server does not answer")
	}
	f.added = append(f.added, fmt.Sprintf("%T %s", of, name))
	return nil
}
