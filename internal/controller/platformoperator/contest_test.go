package platformoperator

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestContests verifies how often an object is written that another client changes after each write.
func TestContests(t *testing.T) {
	object := func(name, hash string) *unstructured.Unstructured {
		out := &unstructured.Unstructured{}
		out.SetKind("ConfigMap")
		out.SetName(name)
		out.SetAnnotations(map[string]string{annotationComposed: hash})
		return out
	}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	// fight has another client change an object every millisecond, and returns the writes and how the last attempt ended.
	fight := func(c *contests, o *unstructured.Unstructured, from time.Time, lasts time.Duration) (writes int, err error) {
		for now := from; now.Before(from.Add(lasts)); now = now.Add(time.Millisecond) {
			var may bool
			if may, err = c.write(o, now); may {
				writes++
			}
		}
		return writes, err
	}
	c := &contests{}
	writes, err := fight(c, object("fought", "1"), start, time.Minute)
	if writes < 5 || writes > 10 || err == nil {
		t.Errorf("In a minute of a contest: %d writes, %v; want a few, and a report", writes, err)
	}
	writes, err = fight(c, object("fought", "1"), start.Add(time.Minute), 10*time.Minute)
	if writes < 9 || writes > 12 || err == nil {
		t.Errorf("In the ten minutes after: %d writes, %v; want one a minute", writes, err)
	}
	after := start.Add(11 * time.Minute)
	if may, err := c.write(object("fought", "2"), after); !may || err != nil {
		t.Errorf("What is to be written has changed: %t %v; want it written at once", may, err)
	}
	if may, err := c.write(object("other", "1"), after); !may || err != nil {
		t.Errorf("Another object: %t %v; want it written at once", may, err)
	}
	if may, err := c.write(object("fought", "1"), after.Add(5*time.Minute)); !may || err != nil {
		t.Errorf("After a while without a contest: %t %v; want it written at once", may, err)
	}
	if n := len(c.of); n != 1 {
		t.Errorf("%d contests are remembered; want none that has ended", n)
	}
}

// TestContestEnds verifies that an object may be applied again and again if no other client changes it: the API server may store it in
// another form.
func TestContestEnds(t *testing.T) {
	c, o, now := &contests{}, &unstructured.Unstructured{}, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	o.SetName("stored")
	for i := range 2 * freeWrites {
		if may, err := c.write(o, now); !may || err != nil {
			t.Fatalf("attempt %d: %t, %v", i+1, may, err)
		}
		c.end(o)
	}
}
