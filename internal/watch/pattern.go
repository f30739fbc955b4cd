package watch

import "strings"

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

// MaxTypes is how many condition types the Subscriptions of one Target can ask for together.
const MaxTypes = 256

// A pattern is which of the conditions asked for an object has, in its own order, and their status: two bytes each, the
// number of the type and the status. A pattern of more than maxOrdered conditions is packed instead: two bits for each
// number, and the order is lost. So no pattern is longer than packedSize, whatever conditions an object has.
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

// pack returns a pattern in the form that is kept. It may change the bytes of the one that is given.
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

// conditionsOf returns the conditions of a pattern. Those of a packed one are in the order of types.
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
