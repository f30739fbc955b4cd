// Package condition contains types and functions for the conditions of several kinds.
package condition

// Problem is the reason and message of a condition that reports a problem.
type Problem struct {
	Reason  string
	Message string
}
