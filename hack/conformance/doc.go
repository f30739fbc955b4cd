// Package conformance runs Operator Lifecycle Manager's own end-to-end suite against the built-in loops and compares
// the result of every spec with the table in specs.tsv. A spec that starts or stops passing fails the run.
//
// Excused specs have a class. A: needs a running pod or an image pull. B: a design decision. C and D: to be fixed here,
// C if users who migrate from OLM would notice. S: skipped by the suite itself. Specs that fail by timing out run only
// with -all; -focus runs the specs that match a regular expression; -update writes the outcomes to the table, in which
// new failures must then be classified.
package conformance
