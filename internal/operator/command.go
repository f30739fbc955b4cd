package operator

import (
	"fmt"
	"strings"
)

// Placeholder stands in a command for a text that cannot be part of one.
const Placeholder = "NAME"

// Command returns a command for a shell, from a format with %s for each argument. The arguments are names that others choose, some of them
// freely. A text that a shell or kubectl would take for something else than an argument is replaced by Placeholder.
func Command(format string, args ...string) string {
	out := make([]any, 0, len(args))
	for _, a := range args {
		if !isArgument(a) {
			a = Placeholder
		}
		out = append(out, a)
	}
	return fmt.Sprintf(format, out...)
}

// isArgument reports whether a text is one argument of a command, and no flag.
func isArgument(text string) bool {
	special := func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		return !letter && !strings.ContainsRune("_./:=@,%+-", r)
	}
	return text == anyVersion || text != "" && text[0] != '-' && !strings.ContainsFunc(text, special)
}

// anyVersion stands in messages for the version that a policy inserts.
const anyVersion = "<version>"
