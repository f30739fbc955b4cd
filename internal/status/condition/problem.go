// Package condition contains types for conditions that the status packages share.
package condition

// Problem is the reason and message of a condition that reports a problem.
type Problem struct {
	Reason  string
	Message string
}
