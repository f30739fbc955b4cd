package installplan

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
	"github.com/operator-status/operator-status/internal/installer/builtin/catalog/store"
	"github.com/operator-status/operator-status/internal/installer/builtin/resolve"
)

// stalling is a Catalogs that reads bundles with a channel in goOn only when that is closed.
type stalling struct {
	Catalogs
	begun chan string
	goOn  map[string]chan struct{}
}

func newStalling(bundles ...string) *stalling {
	out := &stalling{begun: make(chan string, 100), goOn: map[string]chan struct{}{}}
	for _, b := range bundles {
		out.goOn[b] = make(chan struct{})
	}
	return out
}

func (s *stalling) Manifests(ctx context.Context, _ types.NamespacedName, b *catalog.Bundle) (*store.Manifests, error) {
	s.begun <- b.Name
	if wait := s.goOn[b.Name]; wait != nil {
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if b.Name == "broken" {
		return nil, errors.New("broken")
	}
	return &store.Manifests{Digest: b.Name}, nil
}

func trustsOLM(c types.NamespacedName) bool { return c.Namespace == "olm" }

var aPlan = types.NamespacedName{Namespace: "default", Name: "p"}

func choicesOf(namespace string, bundles ...string) []resolve.Choice {
	var out []resolve.Choice
	for _, b := range bundles {
		out = append(out, resolve.Choice{Bundle: &catalog.Bundle{Name: b}, Catalog: types.NamespacedName{Namespace: namespace, Name: "c"}})
	}
	return out
}

// mustTake takes bundles that have already been read.
func mustTake(t *testing.T, r *readings, plan types.NamespacedName, choices []resolve.Choice) *reading {
	t.Helper()
	one, release, err := r.take(t.Context(), plan, choices)
	if err != nil {
		t.Fatal(err)
	}
	release()
	return one
}

func TestReadInTime(t *testing.T) {
	s := newStalling()
	r := newReadings(s, trustsOLM, func(types.NamespacedName) { t.Error("the plan is enqueued though it did not have to wait") })
	choices := choicesOf("olm", "a", "b")
	one := mustTake(t, r, aPlan, choices)
	if one.err != nil || one.manifests[0].Digest != "a" || one.manifests[1].Digest != "b" {
		t.Errorf("got %+v", one)
	}
	if first := <-s.begun; first != "b" {
		t.Errorf("%s is read first, on which nothing depends", first)
	}
	failed := mustTake(t, r, aPlan, choicesOf("olm", "a", "broken"))
	if failed.err == nil || failed.manifests[0] != nil || failed.manifests[1] != nil {
		t.Errorf("got %+v", failed)
	}
}

// TestReadLater verifies that a worker does not wait for a registry that stalls. The plan is enqueued once when its
// bundles have been read.
func TestReadLater(t *testing.T) {
	s := newStalling("a")
	enqueued := make(chan types.NamespacedName, 10)
	r := newReadings(s, trustsOLM, func(plan types.NamespacedName) { enqueued <- plan })
	choices := choicesOf("olm", "a")
	for range 2 {
		if _, _, err := r.take(t.Context(), aPlan, choices); !errors.Is(err, errReading) {
			t.Fatalf("got %v", err)
		}
	}
	close(s.goOn["a"])
	if plan := <-enqueued; plan != aPlan {
		t.Errorf("%s is enqueued", plan)
	}
	mustTake(t, r, aPlan, choices)
	if len(s.begun) != 1 || len(enqueued) != 0 {
		t.Errorf("read %d times, and enqueued %d times more", len(s.begun), len(enqueued))
	}
}

// TestReadOthers verifies that the bundles of a plan may change while they are read.
func TestReadOthers(t *testing.T) {
	s := newStalling("a")
	r := newReadings(s, trustsOLM, func(types.NamespacedName) {})
	if _, _, err := r.take(t.Context(), aPlan, choicesOf("olm", "a")); !errors.Is(err, errReading) {
		t.Fatalf("got %v", err)
	}
	if one := mustTake(t, r, aPlan, choicesOf("olm", "b")); one.manifests[0].Digest != "b" {
		t.Errorf("got %+v", one)
	}
}

// TestReadFairly verifies that plans of a namespace whose registries stall delay neither other namespaces nor trusted
// catalogs.
func TestReadFairly(t *testing.T) {
	s := newStalling("stalled")
	r := newReadings(s, trustsOLM, func(types.NamespacedName) {})
	defer close(s.goOn["stalled"])
	var all sync.WaitGroup
	for i := range 3 * namespaceReadings {
		all.Go(func() {
			plan := types.NamespacedName{Namespace: "hostile", Name: fmt.Sprint(i)}
			if _, _, err := r.take(t.Context(), plan, choicesOf("hostile", "stalled")); !errors.Is(err, errReading) {
				t.Errorf("got %v", err)
			}
		})
	}
	all.Wait()
	if len(s.begun) != namespaceReadings {
		t.Errorf("%d are read at a time", len(s.begun))
	}
	mustTake(t, r, aPlan, choicesOf("default", "a"))
	mustTake(t, r, types.NamespacedName{Namespace: "hostile", Name: "trusted"}, choicesOf("olm", "a"))
}
