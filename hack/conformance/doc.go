// Package conformance runs Operator Lifecycle Manager's own end-to-end suite against the built-in loops, and compares the outcome of
// every spec with the table in specs.tsv. One that starts or stops passing fails the run.
//
// What is excused has a class. A: a pod truly has to run, or an image to be pulled. B: a decision of the design. C, D: ours to mend, C
// where people who move from OLM would notice. S: the suite skips it itself. What fails by waiting in vain is run with -all only;
// -focus runs the specs that match a regular expression; -update writes the outcomes into the table, where what is new is to be
// classified.
package conformance
