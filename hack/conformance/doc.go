// Package conformance runs Operator Lifecycle Manager's own end-to-end suite against the built-in loops, and compares the outcome of
// every spec with the table in specs.tsv.
package conformance
