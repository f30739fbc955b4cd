package watch

import (
	"encoding/binary"
	"strings"
)

// Status of a condition. The zero Status is Unknown.
type Status uint8

// The statuses of a condition.
const (
	Unknown Status = iota
	False
	True
)

// statusOf reads a status as the API conventions spell it. Anything else is as good as Unknown.
func statusOf(text []byte) Status {
	switch string(text) {
	case "True":
		return True
	case "False":
		return False
	default:
		return Unknown
	}
}

// Condition is a condition's type and status.
type Condition struct {
	Type   string
	Status Status
}

// A pattern is which of the conditions looked for an object has, in its own order, and their status: three bytes each.
const patternEntry = 3

func appendToPattern(pattern []byte, number uint16, status Status) []byte {
	return append(binary.BigEndian.AppendUint16(pattern, number), byte(status))
}

func patternHas(pattern []byte, number uint16) bool {
	for i := 0; i < len(pattern); i += patternEntry {
		if binary.BigEndian.Uint16(pattern[i:]) == number {
			return true
		}
	}
	return false
}

// conditionsOf spells a pattern out.
func conditionsOf(pattern string, types []string) []Condition {
	out := make([]Condition, 0, len(pattern)/patternEntry)
	for i := 0; i < len(pattern); i += patternEntry {
		number := binary.BigEndian.Uint16([]byte(pattern[i : i+2]))
		out = append(out, Condition{Type: types[number], Status: Status(pattern[i+2])})
	}
	return out
}

// keySeparator sorts before all that a name may hold, so that keys sort by namespace, then name.
const keySeparator = '\x00'

func splitKey(key string) (namespace, name string) {
	namespace, name, _ = strings.Cut(key, string(keySeparator))
	return namespace, name
}

// patternTable numbers the patterns that objects have, and counts the objects of each. Numbers of patterns that no
// object has any more are used again, so that the table is never larger than the objects are many.
type patternTable struct {
	numbers map[string]uint32
	entries []patternCount
	free    []uint32
}

type patternCount struct {
	pattern string
	count   int
}

// take is the number of a pattern, now that one more object has it, and whether it is new.
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

// drop says that one object less has the pattern of that number.
func (t *patternTable) drop(number uint32) {
	entry := &t.entries[number]
	if entry.count--; entry.count > 0 {
		return
	}
	delete(t.numbers, entry.pattern)
	*entry = patternCount{}
	t.free = append(t.free, number)
}
