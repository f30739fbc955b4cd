package docs

import (
	"regexp"
	"strings"
	"testing"

	"github.com/operator-status/operator-status/internal/test/hang"
)

// TestHanging verifies that hanging.md has exactly the ways in which operators are made to hang, each with the first line of `why`.
func TestHanging(t *testing.T) {
	printed := map[string]string{}
	for line := range strings.SplitSeq(read(t, "hanging.md"), "\n") {
		cells := strings.Split(line, " | ")
		if cause, ok := strings.CutPrefix(cells[0], "| "); ok && cause != "Cause" {
			printed[cause+"."] = cells[1]
		}
	}
	for name, way := range hang.Ways {
		text, ok := printed[way.Reason]
		if !ok {
			t.Errorf("%s: hanging.md does not have %q", name, way.Reason)
			continue
		}
		delete(printed, way.Reason)
		first, _, _ := strings.Cut(way.Heading, "(?s:") // the rest is the message
		if !regexp.MustCompile(strings.ReplaceAll(strings.TrimSpace(first), " .*", ".*")).MatchString(text) {
			t.Errorf("%s: hanging.md has %q, and `why` prints %s", name, text, way.Heading)
		}
	}
	for cause := range printed {
		t.Errorf("nothing hangs because of %q", cause)
	}
}
