// Package condition contains what the conditions of several kinds share.
package condition

// Problem is the reason and message of a condition that reports a problem.
type Problem struct {
	Reason  string
	Message string
}
