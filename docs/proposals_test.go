package docs

import (
	"strings"
	"testing"
)

// TestProposals verifies that the tests that proposals.md names exist, and that every row names one.
func TestProposals(t *testing.T) {
	tests := declaredTests(t)
	rows := 0
	for line := range strings.SplitSeq(read(t, "proposals.md"), "\n") {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| The document |") {
			continue
		}
		rows++
		cells := strings.Split(strings.Trim(line, "|"), " | ")
		named := backquoted.FindAllStringSubmatch(cells[len(cells)-1], -1)
		if len(named) == 0 {
			t.Errorf("no test is named in %s", line)
		}
		for _, test := range named {
			if !tests[test[1]] {
				t.Errorf("%s does not exist, which is named in %s", test[1], line)
			}
		}
	}
	if rows == 0 {
		t.Error("proposals.md has no rows")
	}
}
