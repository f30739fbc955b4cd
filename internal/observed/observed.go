// Package observed has what was observed of custom resources: their conditions, what these mean for a Probe, and how many
// mean it. The package watch observes, and statuses and the gate report.
package observed

import "slices"

// Status is the status of a condition. The zero value is Unknown.
type Status uint8

// The statuses of a condition.
const (
	Unknown Status = iota
	False
	True

	// Unreadable is the status of a condition that exists but has no status that the API conventions know, or that
	// occurs several times with statuses of which none is the newest.
	Unreadable
)

// Condition is a condition's type and status, or a comparison of a field and its value.
type Condition struct {
	// Type is the type of a condition, or a comparison as text. It is empty for an entry that stands for all parts of
	// `status.conditions` that are not conditions. Its status is Unreadable.
	Type   string
	Status Status

	// Stale is true if the condition was observed before the last change of the custom resource's spec.
	Stale bool
}

// Verdict is the meaning of an object's conditions.
type Verdict struct {
	// Blocks is true if the object blocks an update. Such objects are listed first.
	Blocks bool

	// Important is true if the object has something important to report. Such objects are listed.
	Important bool

	// Unknown is true if the object cannot be judged.
	Unknown bool

	// Unreadable is true if the object cannot be judged because of conditions that are Unreadable. Such objects are
	// listed last.
	Unreadable bool
}

// Explanation is a Verdict in messages.
type Explanation struct {
	// Blocks is why the object blocks an update, or empty.
	Blocks string

	// Important is the important thing that the object reports, or empty.
	Important string

	// Unreadable names the unreadable conditions that keep the object from being judged, or is empty.
	Unreadable string

	// Reasons are the conditions that decided.
	Reasons []string
}

// Equal reports whether two Explanations are the same.
func (e Explanation) Equal(f Explanation) bool {
	return e.Blocks == f.Blocks && e.Important == f.Important && e.Unreadable == f.Unreadable && slices.Equal(e.Reasons, f.Reasons)
}

// Counts are numbers of objects.
type Counts struct {
	Total, Blocking, Important, Unknown, Unreadable int
}

// Plus returns the sums of two Counts.
func (c Counts) Plus(d Counts) Counts {
	return Counts{
		Total: c.Total + d.Total, Blocking: c.Blocking + d.Blocking, Important: c.Important + d.Important,
		Unknown: c.Unknown + d.Unknown, Unreadable: c.Unreadable + d.Unreadable,
	}
}

// SameKind reports whether the same counts are zero.
func (c Counts) SameKind(d Counts) bool {
	return (c.Total > 0) == (d.Total > 0) && (c.Blocking > 0) == (d.Blocking > 0) &&
		(c.Important > 0) == (d.Important > 0) && (c.Unknown > 0) == (d.Unknown > 0) && (c.Unreadable > 0) == (d.Unreadable > 0)
}

// Item is a listed object.
type Item struct {
	Namespace, Name string
	Explanation
}

// Snapshot is the state of the objects of a kind at one moment, judged by their conditions.
type Snapshot struct {
	// Filled is true once all objects have been read. Until then all fields except Err are empty.
	Filled bool

	// Err is the error of the last attempt to list or watch, or nil. The rest of the Snapshot is from before the error.
	Err error

	// Stale is true if reading has failed, or the API server has sent nothing, for so long that the rest of the Snapshot
	// may be out of date.
	Stale bool

	Counts

	// Items are the first listed objects: the blocking ones, then the important and the unreadable ones, each sorted by
	// namespace and name. Objects of the preferred namespace precede all others.
	Items []Item

	// Omitted is the number of objects that did not fit into Items.
	Omitted int
}
