package gate

import (
	"strings"
	"testing"
)

// TestClip verifies that a message that is shortened keeps the command at its end.
func TestClip(t *testing.T) {
	const command = ". To update anyway: kubectl annotate deployment -n foo foo operatorstatus.io/allow-upgrade=4"
	long := strings.Repeat("Waiting for Foo foo/example. ", 100)
	for name, tc := range map[string]struct {
		reason, message string
		limit           int
		ends            string
	}{
		"Fits":      {"A message that fits stays.", "Waiting" + command, 200, "Waiting" + command},
		"Long":      {"What is before the command is shortened.", long + command, 200, command},
		"NoCommand": {"A message without command loses its end.", long, 200, "…"},
		"Foreign":   {"A text that only looks like a command is not kept at any price.", "A" + command + long, 200, "…"},
		"Short":     {"Nor is one that leaves no space for the cause.", long + command, 100, "…"},
	} {
		t.Run(name, func(t *testing.T) {
			got := Clip(tc.message, tc.limit)
			if len(got) > tc.limit || !strings.HasSuffix(got, tc.ends) {
				t.Errorf("%s It is %d bytes: %s", tc.reason, len(got), got)
			}
			if tc.ends == command && !strings.Contains(got, "…"+command) {
				t.Errorf("%s It does not show that it was shortened: %s", tc.reason, got)
			}
		})
	}
}
