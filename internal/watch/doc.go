// Package watch keeps what very many custom resources say in their conditions, at very little memory.
//
// An Engine runs one client-go Reflector per Target: an identity, a resource, and a namespace or all of them. Of each
// object it keeps the key and the number of a pattern: which of the conditions asked for it has, in its own order,
// with which status. Objects that say the same share a pattern, and a Subscription judges patterns, not objects, so
// an event that changes nothing of interest ends at the comparison of two numbers.
//
// Memory is bounded by the number of objects alone: a pattern is 64 bytes at most, a Subscription keeps a byte of it, and
// only the objects that a Snapshot lists are explained.
//
//	bytes ─decode─▶ key, pattern ─source─▶ old pattern != new pattern ─Subscription─▶ counters, list, notify
package watch
