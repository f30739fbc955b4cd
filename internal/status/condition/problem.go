// Package condition contains types and functions for the conditions of several kinds.
package condition

import "github.com/operator-status/operator-status/internal/messages"

// Problem is the reason and message of a condition that reports a problem.
type Problem struct {
	Reason  string
	Message string
}

// Messages joins the messages of Problems, at most so many.
func Messages(problems []Problem, most int) string {
	var out []string
	for _, p := range problems {
		out = append(out, p.Message)
	}
	return messages.List(out, most, "; ")
}
