package installplan

import (
	"strings"
	"testing"

	"github.com/operator-status/operator-status/internal/preview"
)

// TestInWords verifies that a preview is short, whatever is in the bundle.
func TestInWords(t *testing.T) {
	cases := map[string]struct {
		reason  string
		changes preview.Changes
		want    string
	}{
		"None": {"Nothing changes.", preview.Changes{}, "Images: no changes. Rights: no changes"},
		"Both": {
			"Old ones come first.",
			preview.Changes{ImagesRemoved: []string{"foo:1"}, ImagesAdded: []string{"foo:2"}, RightsLost: []string{"get pods"}, RightsGained: []string{"get secrets"}},
			"Images: - foo:1; + foo:2. Rights: - get pods; + get secrets",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := inWords(tc.changes); got != tc.want {
				t.Errorf("%s\ngot  %s\nwant %s", tc.reason, got, tc.want)
			}
		})
	}
	var huge preview.Changes
	for range 1000 {
		huge.RightsGained = append(huge.RightsGained, strings.Repeat("x", 10_000))
	}
	if n := len(inWords(huge)); n > 4_000 {
		t.Errorf("the preview of a huge bundle has %d bytes", n)
	}
}
