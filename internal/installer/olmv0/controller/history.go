package controller

import (
	"time"
)

const (
	// restAfterOLM is how long OLM must not have written to a Subscription before we do. OLM's resolver overwrites
	// the whole status of every Subscription of the namespace with the state that it read when it started. After a
	// change of one spec, v0.46 lost 9 of 10 conditions that were written within a second, and none after this time:
	// see TestFactResolverOverwritesStatus of e2e/olm.
	restAfterOLM = 2 * time.Second

	// mostChurn is how long writes by OLM may delay ours.
	mostChurn = 30 * time.Second

	// messageInterval is the minimum time between a write and one that only changes messages.
	messageInterval = 30 * time.Second
)

// history is the in-memory record of a Subscription. Losing it delays a write.
type history struct {
	mine     string    // the resourceVersion that we last wrote
	replaced string    // the one that it replaced
	seen     string    // the last one that another client wrote
	at       time.Time // when it was first seen
	wanting  time.Time // since when a change is pending, or zero
	wrote    time.Time // when we last wrote
}

// due returns when to write a change. onlyMessages is true if only messages change.
func (h history) due(onlyMessages bool) time.Time {
	out := h.at.Add(restAfterOLM)
	if latest := h.wanting.Add(mostChurn); latest.Before(out) {
		out = latest
	}
	if earliest := h.wrote.Add(messageInterval); onlyMessages && earliest.After(out) {
		return earliest
	}
	return out
}
