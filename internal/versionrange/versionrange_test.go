package versionrange

import (
	"strings"
	"testing"
)

// TestRange verifies which versions are in a range. The syntax is that of a ClusterExtension, whose documentation the rows follow.
func TestRange(t *testing.T) {
	cases := map[string]struct {
		reason, text string
		has, lacks   []string
	}{
		"Empty":       {"Without a range, any version is allowed.", "", []string{"1.0.0", "2.0.0-rc.1", "nonsense"}, nil},
		"Between":     {"Comparisons are separated by spaces.", ">=1.2.0 <2.0.0", []string{"1.2.0", "1.9.9"}, []string{"1.1.9", "2.0.0", "2.0.0-rc.1"}},
		"Commas":      {"Or by commas.", ">=1.2.0, <2.0.0", []string{"1.2.0"}, []string{"2.0.0"}},
		"Exact":       {"One version.", "1.2.3", []string{"1.2.3"}, []string{"1.2.4"}},
		"Wildcard":    {"Any patch.", "1.2.x", []string{"1.2.0", "1.2.9"}, []string{"1.3.0"}},
		"Tilde":       {"Any patch from one on.", "~1.2.3", []string{"1.2.3", "1.2.9"}, []string{"1.2.2", "1.3.0"}},
		"Caret":       {"Any version that is compatible.", "^1.2.3", []string{"1.9.0"}, []string{"2.0.0"}},
		"Or":          {"One of two ranges.", "1.2.x || >=3.0.0", []string{"1.2.1", "3.1.0"}, []string{"2.0.0"}},
		"Prerelease":  {"A pre-release is in a range that names one.", ">=4.16.0-0", []string{"4.16.0-202410011135", "4.17.0"}, []string{"4.15.9"}},
		"Build":       {"The metadata of a build does not matter.", "1.2.3", []string{"1.2.3+0.1664"}, nil},
		"Unknown":     {"A version that is not known is in no range.", ">=0.0.0", nil, []string{"", "nonsense"}},
		"Invalid":     {"An invalid range has no version.", "newest", nil, []string{"1.0.0"}},
		"TooLong":     {"Nor has one that is too long.", strings.Repeat("1.2.3 || ", 8) + "1.2.3", nil, []string{"1.2.3"}},
		"Unbalanced":  {"Nor has half a comparison.", ">=1.0.0 <", nil, []string{"1.0.0"}},
		"Unprintable": {"Nor has one that is not text.", "\x1b[31m1.0.0", nil, []string{"1.0.0"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := Parse(tc.text)
			for _, v := range tc.has {
				if !r.Has(v) {
					t.Errorf("%s\n%s lacks %q", tc.reason, r, v)
				}
			}
			for _, v := range tc.lacks {
				if r.Has(v) {
					t.Errorf("%s\n%s has %q", tc.reason, r, v)
				}
			}
			invalid := map[string]bool{"Invalid": true, "TooLong": true, "Unbalanced": true, "Unprintable": true}[name]
			if err := r.Err(); (err != nil) != invalid || err != nil && strings.Contains(err.Error(), "\x1b") {
				t.Errorf("%s\nthe error is %v", tc.reason, err)
			}
		})
	}
}

// FuzzRange verifies that no range and no version fails.
func FuzzRange(f *testing.F) {
	f.Add(">=1.2.0 <2.0.0", "1.2.3")
	f.Add("^1.x || ~2-rc", "")
	f.Fuzz(func(t *testing.T, text, version string) {
		if r := Parse(text); r.Err() != nil && r.Has(version) {
			t.Errorf("an invalid range %s has %q", r, version)
		}
	})
}
