// Package condition holds what the status packages share about conditions.
package condition

// Problem is what is wrong: the reason of a condition and its message.
type Problem struct {
	Reason  string
	Message string
}
