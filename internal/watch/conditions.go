package watch

import (
	"slices"
	"time"

	"github.com/operator-status/operator-status/internal/expression"
	"github.com/operator-status/operator-status/internal/observed"
)

// conditionReader collects the requested conditions of one object, in the object's own order and each type once.
type conditionReader struct {
	found []foundCondition
	texts []byte // of lastTransitionTime and reason of found

	// latest is the newest generation that any condition was observed for.
	latest int64

	// malformed is true if parts of `status.conditions` are not conditions.
	malformed bool
}

// foundCondition is a condition as an object has it.
type foundCondition struct {
	number   uint8 // of its type
	status   observed.Status
	since    span  // lastTransitionTime
	reason   span  // empty unless some reason is compared
	observed int64 // observedGeneration, or 0
}

// span is a part of conditionReader.texts. Only a type that occurs twice needs times, so they are not parsed before.
type span struct{ start, end int }

// maxTime is the length of a time, in bytes, above which it is none.
const maxTime = 64

func (c *conditionReader) reset() {
	c.found, c.texts, c.latest, c.malformed = c.found[:0], c.texts[:0], 0, false
}

// keep stores a text, unless it is longer than a limit, and returns its span.
func (c *conditionReader) keep(text []byte, limit int) span {
	start := len(c.texts)
	if len(text) <= limit {
		c.texts = append(c.texts, text...)
	}
	return span{start, len(c.texts)}
}

// saw records that the object has a condition, of any type.
func (c *conditionReader) saw(f foundCondition) { c.latest = max(c.latest, f.observed) }

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
	out, err := time.Parse(time.RFC3339, string(c.texts[s.start:s.end]))
	return out, err == nil
}

// appendPattern appends the pattern of the conditions of an object with that generation, of which the operator has
// observed another one, or 0 if that is not known.
func (c *conditionReader) appendPattern(pattern []byte, generation, seen int64) []byte {
	for _, f := range c.found {
		pattern = append(pattern, f.number, stateOf(f.status, f.isStale(generation, seen)))
	}
	return pattern
}

// isStale reports whether the condition is about an older generation, by its own word or that of its object.
func (f foundCondition) isStale(generation, seen int64) bool {
	if f.observed > 0 {
		seen = f.observed
	}
	return seen > 0 && seen < generation
}

// has reports whether the object has a condition of that number.
func (c *conditionReader) has(number uint8) bool {
	return slices.ContainsFunc(c.found, func(f foundCondition) bool { return f.number == number })
}

// reasonOf returns the reason of the condition with that number, and whether that is stale. It is absent without such a
// condition. One without a reason has an empty one, which most programs omit.
func (c *conditionReader) reasonOf(number uint8, generation, seen int64) (reason expression.Scalar, stale bool) {
	for _, f := range c.found {
		if f.number != number {
			continue
		}
		text := c.texts[f.reason.start:f.reason.end]
		if f.status == observed.Unreadable {
			return expression.Scalar{Kind: expression.Other}, f.isStale(generation, seen)
		}
		return expression.Scalar{Kind: expression.String, Text: text}, f.isStale(generation, seen)
	}
	return reason, false
}
