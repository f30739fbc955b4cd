package watch

import "strings"

// Status is the status of a condition. The zero value is Unknown.
type Status uint8

// The statuses of a condition.
const (
	Unknown Status = iota
	False
	True
)

// statusOf parses a status as spelled in the API conventions. Anything else is Unknown.
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

// MaxTypes is how many condition types the Subscriptions to one Target may need together.
const MaxTypes = 256

// A pattern encodes which of the requested conditions an object has, in its own order, and their status: two bytes
// each, the number of the type and the status. A pattern of more than maxOrdered conditions is packed instead: two bits
// for each number, and the order is lost. So no pattern is longer than packedSize, regardless of an object's
// conditions.
const (
	patternEntry = 2
	packedSize   = MaxTypes / perByte
	perByte      = 4
	maxOrdered   = packedSize/patternEntry - 1
)

func appendToPattern(pattern []byte, number uint8, status Status) []byte {
	return append(pattern, number, byte(status))
}

func patternHas(pattern []byte, number uint8) bool {
	for i := 0; i < len(pattern); i += patternEntry {
		if pattern[i] == number {
			return true
		}
	}
	return false
}

// pack returns the form of a pattern that is stored. It may change the bytes of its argument.
func pack(pattern []byte) []byte {
	if len(pattern) <= maxOrdered*patternEntry {
		return pattern
	}
	var packed [packedSize]byte
	for i := 0; i < len(pattern); i += patternEntry {
		number, status := pattern[i], pattern[i+1]
		packed[number/perByte] |= (status + 1) << (number % perByte * 2)
	}
	return append(pattern[:0], packed[:]...)
}

// conditionsOf returns the conditions of a pattern. Those of a packed pattern are in the order of types.
func conditionsOf(pattern string, types []string) []Condition {
	if len(pattern) == packedSize {
		return unpack(pattern, types)
	}
	out := make([]Condition, 0, len(pattern)/patternEntry)
	for i := 0; i < len(pattern); i += patternEntry {
		out = append(out, Condition{Type: types[pattern[i]], Status: Status(pattern[i+1])})
	}
	return out
}

func unpack(pattern string, types []string) []Condition {
	out := make([]Condition, 0, len(types))
	for number, t := range types {
		if status := pattern[number/perByte] >> (number % perByte * 2) & 3; status > 0 {
			out = append(out, Condition{Type: t, Status: Status(status - 1)})
		}
	}
	return out
}

// keySeparator sorts before every character of a name, so that keys sort by namespace, then name.
const keySeparator = '\x00'

func splitKey(key string) (namespace, name string) {
	namespace, name, _ = strings.Cut(key, string(keySeparator))
	return namespace, name
}

// patternTable numbers the patterns of objects, and counts the objects of each. It reuses the numbers of patterns that
// no object has any more, so that it never has more entries than there were objects at once.
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
