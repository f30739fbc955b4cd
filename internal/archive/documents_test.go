package archive

import (
	"strings"
	"testing"
)

// TestFromYAML verifies that a document in YAML is read unless it has aliases. Texts may have the same signs.
func TestFromYAML(t *testing.T) {
	cases := map[string]struct{ reason, document, want, err string }{
		"Quoted": {"Text in quotes may look like an alias.", `a: "&x and *x"`, `{"a":"\u0026x and *x"}`, ""},
		"Block":  {"So may a block of text.", "a: |\n  &x\n  *x\n", `{"a":"\u0026x\n*x\n"}`, ""},
		"Plain":  {"So may text without quotes.", "a: b &x *x", `{"a":"b \u0026x *x"}`, ""},
		"Rule":   {"Rules have asterisks.", "a: ['*', \"*/x\", 'x&y']", `{"a":["*","*/x","x\u0026y"]}`, ""},
		"Anchor": {"An anchor without an alias is harmless.", `{a: &x b, c: "*x"}`, `{"a":"b","c":"*x"}`, ""},
		"Alias":  {"An alias in a list is refused.", "a: &x b\nc: [*x]", "", "unknown anchor 'x' referenced"},
		"Key":    {"So is a key.", "&x a: b\nc: {*x : d}", "", "unknown anchor 'x' referenced"},
		"Merge":  {"So is one that is merged.", "a: &x {b: c}\nd: {<<: *x}", "", "unknown anchor 'x' referenced"},
		"Nested": {"So is one in a value with an anchor.", "a: &x b\nc: &y\n  - *x\n", "", "unknown anchor 'x' referenced"},
		"Bytes": {
			"It is refused before it expands.", "a: &x " + strings.Repeat("x", 1<<20) + "\nb: [" + strings.Repeat("*x, ", 10_000) + "*x]", "",
			"it is not YAML without aliases, which Kubernetes does not write",
		},
		"UTF16": {"A text in another encoding may hide aliases.", "\xff\xfea\x00:\x00 \x00b\x00", "", "it is not in UTF-8"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := fromYAML([]byte(tc.document))
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("%s\ngot error %v, want %q", tc.reason, err, tc.err)
				}
				return
			}
			if err != nil || string(got) != tc.want {
				t.Errorf("%s\ngot %s, %v; want %s", tc.reason, got, err, tc.want)
			}
		})
	}
}
