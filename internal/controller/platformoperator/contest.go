package platformoperator

import (
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	platformoperatorstatus "github.com/operator-status/operator-status/internal/status/platformoperator"
)

const (
	// freeWrites is how often an object is written again at once after another client changed it.
	freeWrites = 3

	// longestContest is the longest interval between writes of an object that another client keeps changing.
	longestContest = time.Minute
)

// contests limits how often objects are written that another client changes after each write: two controllers that
// write the same field would otherwise write it as fast as the API server lets them. The zero value is ready to use.
type contests struct {
	mu sync.Mutex
	of map[contested]contest
}

// contested identifies a write: the object, and the hash of its content.
type contested struct{ object, hash string }

type contest struct {
	writes int // in a row
	last   time.Time
}

func keyOf(o *unstructured.Unstructured) contested {
	return contested{platformoperatorstatus.Title(o), o.GetAnnotations()[annotationComposed]}
}

// write returns an error if an object of that content has been written again and again, and whether it may be written
// once more now.
func (c *contests) write(o *unstructured.Unstructured, now time.Time) (may bool, err error) {
	key := keyOf(o)
	c.mu.Lock()
	defer c.mu.Unlock()
	last := c.of[key]
	pause := pauseAfter(last.writes)
	if now.Sub(last.last) > pause+longestContest {
		last = contest{}
	}
	if may = now.Sub(last.last) >= pause; may {
		if c.of == nil {
			c.of = map[contested]contest{}
		}
		c.forget(now)
		c.of[key] = contest{last.writes + 1, now}
	}
	if last.writes >= freeWrites {
		err = &contestError{o}
	}
	return may, err
}

// end deletes the record of writes of an object that no other client has changed.
func (c *contests) end(desired *unstructured.Unstructured) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.of, keyOf(desired))
}

// forget forgets the contests that are over.
func (c *contests) forget(now time.Time) {
	for key, old := range c.of {
		if now.Sub(old.last) > 2*longestContest {
			delete(c.of, key)
		}
	}
}

func pauseAfter(writes int) time.Duration {
	if writes < freeWrites {
		return 0
	}
	return min(time.Second<<min(writes-freeWrites, 10), longestContest)
}

// contestError means that another client changes an object after each write.
type contestError struct{ object *unstructured.Unstructured }

func (e *contestError) Error() string {
	return fmt.Sprintf("%s: another client changes it after each write. Let only one client write it: its managedFields name both",
		platformoperatorstatus.Title(e.object))
}
