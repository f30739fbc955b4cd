package watch

import (
	"cmp"
	"slices"
)

// Request says what to read and how to judge it.
type Request struct {
	Target Target

	// Types are the condition types that Judge looks at.
	Types []string

	// Judge says what an object's conditions mean. It gets those of them that some Request of the same Target asks
	// for, in the object's own order, each type once. It must depend on nothing else, for it is called once for all
	// objects that say the same.
	Judge func([]Condition) Verdict

	// Listed is how many objects a Snapshot lists.
	Listed int

	// Notify is called when a Snapshot would be different: urgent where an update is newly held or no longer held,
	// or something went wrong or right; otherwise where only counts moved. It must neither block nor call back.
	Notify func(urgent bool)
}

// Verdict is what the conditions of an object mean.
type Verdict struct {
	// Blocks says why the object holds something up, and is empty where it does not. Such objects are listed first.
	Blocks string

	// Tells says what important thing the object has to tell, and is empty where it has none. Such objects are listed.
	Tells string

	// Unknown objects cannot be judged.
	Unknown bool

	// Reasons are kept for objects that are listed.
	Reasons []string
}

func (v *Verdict) blocks() bool { return v != nil && v.Blocks != "" }
func (v *Verdict) tells() bool  { return v != nil && v.Tells != "" }
func (v *Verdict) listed() bool { return v.blocks() || v.tells() }

func (v *Verdict) equal(w *Verdict) bool {
	return v != nil && w != nil && v.Blocks == w.Blocks && v.Tells == w.Tells && v.Unknown == w.Unknown &&
		slices.Equal(v.Reasons, w.Reasons)
}

// Counts of objects.
type Counts struct {
	Total, Blocking, Important, Unknown int
}

func (c *Counts) add(v *Verdict, n int) {
	if v == nil {
		return
	}
	c.Total += n
	if v.blocks() {
		c.Blocking += n
	}
	if v.tells() {
		c.Important += n
	}
	if v.Unknown {
		c.Unknown += n
	}
}

// sameKind is true where no count has become zero or ceased to be.
func (c Counts) sameKind(d Counts) bool {
	return (c.Total > 0) == (d.Total > 0) && (c.Blocking > 0) == (d.Blocking > 0) &&
		(c.Important > 0) == (d.Important > 0) && (c.Unknown > 0) == (d.Unknown > 0)
}

// Item is an object that is listed.
type Item struct {
	Namespace, Name string
	Verdict
}

// Snapshot is what is known at one moment.
type Snapshot struct {
	// Filled is true once all objects have been read. Until then the rest is empty.
	Filled bool

	// Err is why the last attempt to list or watch failed. What else the Snapshot says is then as old as that. It is
	// nil again after a success.
	Err error

	Counts

	// Items are the first of the listed objects: the blocking ones, then the others, each sorted by namespace and name.
	Items []Item

	// Omitted is how many more there are.
	Omitted int
}

// Subscription judges the objects of a target. The source that it belongs to guards its fields.
type Subscription struct {
	engine  *Engine
	source  *source
	request Request

	needs    int       // the round of the source's reading that knows all its types
	verdicts []Verdict // by the number of the pattern
	counts   Counts
	listable int // how many objects are to be listed, if there were room

	// first are the first of them, complete unless stale.
	first []entry
	stale bool
}

type entry struct {
	key     string
	verdict *Verdict
}

func compare(a, b entry) int {
	if a.verdict.blocks() != b.verdict.blocks() {
		if a.verdict.blocks() {
			return -1
		}
		return 1
	}
	return cmp.Compare(a.key, b.key)
}

// Target is what the Subscription reads.
func (sub *Subscription) Target() Target { return sub.request.Target }

// Close ends the Subscription. Notify is not called after it.
func (sub *Subscription) Close() { sub.engine.unsubscribe(sub) }

// Snapshot is what is known now.
func (sub *Subscription) Snapshot() Snapshot {
	s := sub.source
	s.mu.Lock()
	defer s.mu.Unlock()
	out := Snapshot{Filled: s.filled >= sub.needs, Err: s.err}
	if !out.Filled {
		return out
	}
	if sub.stale {
		sub.relist(s)
	}
	out.Counts = sub.counts
	out.Omitted = sub.listable - len(sub.first)
	for _, e := range sub.first {
		namespace, name := splitKey(e.key)
		out.Items = append(out.Items, Item{Namespace: namespace, Name: name, Verdict: *e.verdict})
	}
	return out
}

// judge judges the pattern of that number.
func (sub *Subscription) judge(s *source, number uint32) {
	for len(sub.verdicts) <= int(number) {
		sub.verdicts = append(sub.verdicts, Verdict{})
	}
	sub.verdicts[number] = sub.request.Judge(conditionsOf(s.patterns.entries[number].pattern, s.types))
}

// verdictIf copies the verdict, for its number may soon mean another pattern.
func (sub *Subscription) verdictIf(exists bool, number uint32) *Verdict {
	if !exists {
		return nil
	}
	v := sub.verdicts[number]
	return &v
}

// recount judges all anew.
func (sub *Subscription) recount(s *source) {
	sub.verdicts, sub.counts, sub.listable = nil, Counts{}, 0
	for number, p := range s.patterns.entries {
		if p.count == 0 {
			continue
		}
		sub.judge(s, uint32(number))
		v := &sub.verdicts[number]
		sub.counts.add(v, p.count)
		if v.listed() {
			sub.listable += p.count
		}
	}
	sub.first, sub.stale = nil, sub.listable > 0
}

// moved takes note that an object's verdict was one thing, and is now another; nil where it does not exist.
func (sub *Subscription) moved(key string, before, after *Verdict) {
	if before.equal(after) {
		return
	}
	counts := sub.counts
	sub.counts.add(before, -1)
	sub.counts.add(after, +1)
	if before.listed() {
		sub.unlist(entry{key, before})
	}
	shown := false
	if after.listed() {
		shown = sub.list(entry{key, after})
	}
	held := shown && after.blocks() && !before.blocks()
	sub.request.Notify(held || !sub.counts.sameKind(counts))
}

// list adds an object to be listed, and tells whether it is among the first.
func (sub *Subscription) list(e entry) bool {
	sub.listable++
	if sub.stale {
		return true // it may be; the next Snapshot finds out
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

// unlist removes one. The first of the rest would move up, but which it is only a look at all objects can tell.
func (sub *Subscription) unlist(e entry) {
	sub.listable--
	if at, found := slices.BinarySearchFunc(sub.first, e, compare); found && !sub.stale {
		sub.first = slices.Delete(sub.first, at, at+1)
		sub.stale = sub.listable > len(sub.first)
	}
}

// relist looks at all objects for the first of those to be listed.
func (sub *Subscription) relist(s *source) {
	sub.first, sub.stale, sub.listable = nil, false, 0
	for key, number := range s.objects {
		if v := &sub.verdicts[number]; v.listed() {
			sub.list(entry{key, sub.verdictIf(true, number)})
		}
	}
}
