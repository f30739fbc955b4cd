package watch

import (
	"cmp"
	"slices"
	"strings"

	"github.com/operator-status/operator-status/internal/observed"
)

// Request selects objects and configures how to judge them.
type Request struct {
	Target Target

	// Terms are the terms of expressions that Judge reads: condition types and comparisons.
	Terms []string

	// Judge returns the Verdict for an object's conditions. It receives the conditions that any Request of the same
	// Target asks for, each type once, in the object's own order, followed by the comparisons that are known, or all sorted
	// if very many. The Verdict must not depend on anything else, since Judge is called once for all objects with equal
	// conditions.
	Judge func([]observed.Condition) observed.Verdict

	// Explain returns the messages for the Verdict. It is called only for objects that a Snapshot may list.
	Explain func([]observed.Condition) observed.Explanation

	// Listed is how many objects a Snapshot lists.
	Listed int

	// Preferred is a namespace whose objects are listed before all others, or empty.
	Preferred string

	// Notify is called when a Snapshot would differ. It is urgent if a listed object newly blocks, if a count becomes
	// zero or stops being zero, if all objects were read anew, and if reading fails or works again. Notify must not
	// block, and must not call the Engine or its Subscriptions.
	Notify func(urgent bool)
}

// bits is a Verdict in one byte. Each Subscription keeps one for each pattern, so size matters.
type bits uint8

const (
	exists bits = 1 << iota
	blocks
	important
	unknown
	unreadable
)

func bitsOf(v observed.Verdict) bits {
	out := exists
	if v.Blocks {
		out |= blocks
	}
	if v.Important {
		out |= important
	}
	if v.Unknown {
		out |= unknown
	}
	if v.Unreadable {
		out |= unreadable
	}
	return out
}

func (b bits) has(c bits) bool { return b&c != 0 }
func (b bits) listed() bool    { return b.has(blocks | important | unreadable) }

// rank orders listed objects.
func (b bits) rank() uint8 {
	switch {
	case b.has(blocks):
		return 0
	case b.has(important):
		return 1
	default:
		return 2
	}
}

// state is the state of an object at one moment. The zero value means that it does not exist.
type state struct {
	bits
	pattern string
}

// add adds a number of objects to those Counts to which their bits belong.
func add(c *observed.Counts, b bits, n int) {
	if b.has(exists) {
		c.Total += n
	}
	if b.has(blocks) {
		c.Blocking += n
	}
	if b.has(important) {
		c.Important += n
	}
	if b.has(unknown) {
		c.Unknown += n
	}
	if b.has(unreadable) {
		c.Unreadable += n
	}
}

// Subscription judges the objects of a target. The mutex of its source guards its fields.
type Subscription struct {
	engine  *Engine
	source  *source
	request Request

	needs    int    // the first round of the source that looks for all its types
	verdicts []bits // by the number of the pattern
	counts   observed.Counts
	listable int // how many objects would be listed without a limit

	// first are the first of them, complete unless stale.
	first []entry
	stale bool

	last *observed.Snapshot // set when it is closed
}

type entry struct {
	key   string
	later bool // whether it is outside the preferred namespace
	rank  uint8
}

func (sub *Subscription) entry(key string, b bits) entry {
	preferred := sub.request.Preferred
	return entry{
		key:   key,
		later: preferred != "" && !strings.HasPrefix(key, preferred+string(keySeparator)),
		rank:  b.rank(),
	}
}

func compare(a, b entry) int {
	if a.later != b.later {
		if b.later {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.key, b.key))
}

// Target returns the Subscription's Target.
func (sub *Subscription) Target() Target { return sub.request.Target }

// Close ends the Subscription. Notify is not called afterwards.
func (sub *Subscription) Close() { sub.engine.unsubscribe(sub) }

// Snapshot returns the current state, or the last one before the Subscription was closed.
func (sub *Subscription) Snapshot() observed.Snapshot {
	s := sub.source
	s.mu.Lock()
	defer s.mu.Unlock()
	if sub.last != nil {
		return *sub.last
	}
	return sub.snapshot(s)
}

func (sub *Subscription) snapshot(s *source) observed.Snapshot {
	out := observed.Snapshot{Filled: s.filled >= sub.needs, Err: s.err, Stale: s.stale}
	if !out.Filled {
		return out
	}
	if sub.stale {
		sub.relist(s)
	}
	out.Counts = sub.counts
	out.Omitted = sub.listable - len(sub.first)
	explained := map[uint32]observed.Explanation{}
	for _, e := range sub.first {
		namespace, name := splitKey(e.key)
		number := s.objects[e.key]
		explanation, ok := explained[number]
		if !ok {
			explanation = sub.explain(s, s.patterns.entries[number].pattern)
			explained[number] = explanation
		}
		out.Items = append(out.Items, observed.Item{Namespace: namespace, Name: name, Explanation: explanation})
	}
	return out
}

func (sub *Subscription) explain(s *source, pattern string) observed.Explanation {
	return sub.request.Explain(conditionsOf(pattern, s.filledTerms))
}

// judge judges the pattern of that number.
func (sub *Subscription) judge(s *source, number uint32) {
	for len(sub.verdicts) <= int(number) {
		sub.verdicts = append(sub.verdicts, 0)
	}
	sub.verdicts[number] = bitsOf(sub.request.Judge(conditionsOf(s.patterns.entries[number].pattern, s.filledTerms)))
}

// stateIf returns the state of an object whose pattern has that number, or the zero state if it does not exist.
func (sub *Subscription) stateIf(s *source, exists bool, number uint32) state {
	if !exists {
		return state{}
	}
	return state{sub.verdicts[number], s.patterns.entries[number].pattern}
}

// recount judges all patterns again.
func (sub *Subscription) recount(s *source) {
	sub.verdicts, sub.counts, sub.listable = nil, observed.Counts{}, 0
	for number, p := range s.patterns.entries {
		if p.count == 0 {
			continue
		}
		sub.judge(s, uint32(number))
		b := sub.verdicts[number]
		add(&sub.counts, b, p.count)
		if b.listed() {
			sub.listable += p.count
		}
	}
	sub.first, sub.stale = nil, sub.listable > 0
}

// moved records that an object changed from one state to another.
func (sub *Subscription) moved(s *source, key string, before, after state) {
	if before.bits == after.bits {
		if after.listed() && sub.mayShow(sub.entry(key, after.bits)) && !sub.explain(s, before.pattern).Equal(sub.explain(s, after.pattern)) {
			sub.request.Notify(false)
		}
		return
	}
	counts := sub.counts
	add(&sub.counts, before.bits, -1)
	add(&sub.counts, after.bits, +1)
	if before.listed() {
		sub.unlist(sub.entry(key, before.bits))
	}
	isListed := false
	if after.listed() {
		isListed = sub.list(sub.entry(key, after.bits))
	}
	held := isListed && after.has(blocks) && !before.has(blocks)
	sub.request.Notify(held || !sub.counts.SameKind(counts))
}

// mayShow reports whether an object to be listed is, or may be, among the first.
func (sub *Subscription) mayShow(e entry) bool {
	_, found := slices.BinarySearchFunc(sub.first, e, compare)
	return found || sub.stale
}

// list adds an object to be listed, and reports whether it is, or may be, among the first.
func (sub *Subscription) list(e entry) bool {
	sub.listable++
	if sub.stale {
		return true // the next Snapshot finds out
	}
	at, _ := slices.BinarySearchFunc(sub.first, e, compare)
	if at == sub.request.Listed {
		return false
	}
	sub.first = slices.Insert(sub.first, at, e)
	if len(sub.first) > sub.request.Listed {
		sub.first = sub.first[:sub.request.Listed]
	}
	return true
}

// unlist removes an object. If another one moves up, only relist can find out which.
func (sub *Subscription) unlist(e entry) {
	sub.listable--
	if at, found := slices.BinarySearchFunc(sub.first, e, compare); found && !sub.stale {
		sub.first = slices.Delete(sub.first, at, at+1)
		sub.stale = sub.listable > len(sub.first)
	}
}

// relist searches all objects for the first to be listed.
func (sub *Subscription) relist(s *source) {
	sub.first, sub.stale, sub.listable = nil, false, 0
	for key, number := range s.objects {
		if b := sub.verdicts[number]; b.listed() {
			sub.list(sub.entry(key, b))
		}
	}
}
