package watch

import (
	"bytes"
	"strings"

	"github.com/operator-status/operator-status/internal/observed"
)

// statusOf parses a status. The API conventions spell it True, False or Unknown; other case is accepted.
func statusOf(text []byte) observed.Status {
	switch {
	case bytes.EqualFold(text, []byte("True")):
		return observed.True
	case bytes.EqualFold(text, []byte("False")):
		return observed.False
	case bytes.EqualFold(text, []byte("Unknown")):
		return observed.Unknown
	default:
		return observed.Unreadable
	}
}

// MaxTerms is how many terms of expressions the Subscriptions to one Target may need together.
const MaxTerms = 256

// A pattern encodes which of the requested conditions an object has, in its own order, then which of the comparisons are
// known, and their states: two bytes each, the number of the term and the state. A pattern of more than maxOrdered terms is
// packed instead: each bit of the state of each number has a plane of its own, and the order is lost. A last byte,
// malformed, is added if parts of the object's conditions are not conditions. So no pattern is longer than packedSize+1,
// regardless of the object.
const (
	patternEntry = 2
	plane        = MaxTerms / 8
	planes       = 3
	packedSize   = plane * planes
	maxOrdered   = packedSize/patternEntry - 1
	malformed    = 0xff
)

// stateOf returns the state of a condition in a pattern; conditionOf is its inverse. No state is 0. Unknown and
// Unreadable are the same whether stale or not.
func stateOf(status observed.Status, stale bool) byte {
	if stale && (status == observed.True || status == observed.False) {
		return byte(status) + staleOffset
	}
	return byte(status) + 1
}

const staleOffset = 4

func conditionOf(conditionType string, state byte) observed.Condition {
	if state > byte(observed.Unreadable)+1 {
		return observed.Condition{Type: conditionType, Status: observed.Status(state - staleOffset), Stale: true}
	}
	return observed.Condition{Type: conditionType, Status: observed.Status(state - 1)}
}

// pack returns the form of a pattern that is stored. It may change the bytes of its argument.
func pack(pattern []byte) []byte {
	if len(pattern) <= maxOrdered*patternEntry+1 {
		return pattern
	}
	var packed [packedSize]byte
	end := len(pattern) - len(pattern)%patternEntry
	for i := 0; i < end; i += patternEntry {
		number, state := pattern[i], pattern[i+1]
		for p := range planes {
			packed[p*plane+int(number)/8] |= state >> p & 1 << (number % 8)
		}
	}
	return append(append(pattern[:0], packed[:]...), pattern[end:]...)
}

// conditionsOf returns the conditions of a pattern. Those of a packed pattern are in the order of types.
func conditionsOf(pattern string, types []string) []observed.Condition {
	end := len(pattern) - len(pattern)%patternEntry
	out := make([]observed.Condition, 0, len(pattern)/patternEntry+1)
	if end == packedSize {
		out = unpack(pattern, types)
	} else {
		for i := 0; i < end; i += patternEntry {
			out = append(out, conditionOf(types[pattern[i]], pattern[i+1]))
		}
	}
	if end < len(pattern) {
		out = append(out, observed.Condition{Status: observed.Unreadable})
	}
	return out
}

func unpack(pattern string, types []string) []observed.Condition {
	out := make([]observed.Condition, 0, len(types)+1)
	for number, t := range types {
		var state byte
		for p := range planes {
			state |= pattern[p*plane+number/8] >> (number % 8) & 1 << p
		}
		if state > 0 {
			out = append(out, conditionOf(t, state))
		}
	}
	return out
}

// keySeparator sorts before every character of a name, so keys sort by namespace, then name.
const keySeparator = '\x00'

func splitKey(key string) (namespace, name string) {
	namespace, name, _ = strings.Cut(key, string(keySeparator))
	return namespace, name
}

// patternTable numbers the patterns of objects, and counts the objects of each. It reuses the numbers of patterns
// without objects, so it never has more entries than objects existed at once.
type patternTable struct {
	numbers map[string]uint32
	entries []patternCount
	free    []uint32
}

type patternCount struct {
	pattern string
	count   int
}

// take counts one more object of a pattern. It returns the number of the pattern, and whether that is new.
func (t *patternTable) take(pattern string) (number uint32, isNew bool) {
	if number, ok := t.numbers[pattern]; ok {
		t.entries[number].count++
		return number, false
	}
	if t.numbers == nil {
		t.numbers = map[string]uint32{}
	}
	if n := len(t.free); n > 0 {
		number, t.free = t.free[n-1], t.free[:n-1]
		t.entries[number] = patternCount{pattern: pattern, count: 1}
	} else {
		number = uint32(len(t.entries))
		t.entries = append(t.entries, patternCount{pattern: pattern, count: 1})
	}
	t.numbers[pattern] = number
	return number, true
}

// drop counts one object less of the pattern with that number.
func (t *patternTable) drop(number uint32) {
	entry := &t.entries[number]
	if entry.count--; entry.count > 0 {
		return
	}
	delete(t.numbers, entry.pattern)
	*entry = patternCount{}
	t.free = append(t.free, number)
}
