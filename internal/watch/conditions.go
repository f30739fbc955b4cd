package watch

import (
	"time"

	"github.com/operator-status/operator-status/internal/observed"
)

// conditionReader collects the requested conditions of one object, in the object's own order and each type once.
type conditionReader struct {
	found []foundCondition
	times []byte // the texts of lastTransitionTime of found

	// malformed is true if parts of `status.conditions` are not conditions.
	malformed bool
}

// foundCondition is a condition as an object has it.
type foundCondition struct {
	number   uint8 // of its type
	status   observed.Status
	since    span  // lastTransitionTime
	observed int64 // observedGeneration, or 0
}

// span is a part of conditionReader.times. Only a type that occurs twice needs times, so they are not parsed before.
type span struct{ start, end int }

// maxTime is the length of a time, in bytes, above which it is none.
const maxTime = 64

func (c *conditionReader) reset() { c.found, c.times, c.malformed = c.found[:0], c.times[:0], false }

// keep stores a time and returns its span.
func (c *conditionReader) keep(text []byte) span {
	start := len(c.times)
	if len(text) <= maxTime {
		c.times = append(c.times, text...)
	}
	return span{start, len(c.times)}
}

// add adds a condition. Some operators append each transition to the list, so of several conditions of one type the one
// with the newest transition counts. If they differ and no transition is the newest, the type is Unreadable.
func (c *conditionReader) add(added foundCondition) {
	for i := range c.found {
		known := &c.found[i]
		if known.number != added.number {
			continue
		}
		since, dated := c.time(known.since)
		until, alsoDated := c.time(added.since)
		switch same := known.status == added.status; {
		case !dated || !alsoDated:
			if !same {
				known.status, known.since = observed.Unreadable, span{}
			}
		case until.After(since):
			*known = added
		case until.Equal(since) && !same:
			known.status = observed.Unreadable
		}
		return
	}
	c.found = append(c.found, added)
}

func (c *conditionReader) time(s span) (time.Time, bool) {
	out, err := time.Parse(time.RFC3339, string(c.times[s.start:s.end]))
	return out, err == nil
}

// appendPattern appends the pattern of the conditions of an object with that generation.
func (c *conditionReader) appendPattern(pattern []byte, generation int64) []byte {
	for _, f := range c.found {
		pattern = append(pattern, f.number, stateOf(f.status, f.observed > 0 && f.observed < generation))
	}
	if c.malformed {
		pattern = append(pattern, malformed)
	}
	return pattern
}
