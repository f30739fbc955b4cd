// Package watch tracks the conditions of many custom resources with little memory.
//
// An Engine runs one client-go Reflector per Target: an identity, a resource, and a namespace or all of them. For each
// object it keeps the key and the number of a pattern. The pattern encodes which of the requested conditions the object
// has, in its own order, and their status. Objects with equal conditions share a pattern. A Subscription judges
// patterns, not objects, so an event that changes no requested condition costs only the comparison of two patterns.
//
// The number of objects alone bounds the memory: a pattern takes at most 64 bytes, a Subscription keeps one byte of it,
// and only the objects listed in a Snapshot are explained.
//
//	bytes ─decode─▶ key, pattern ─source─▶ changed pattern ─Subscription─▶ counters, list, notify
package watch
