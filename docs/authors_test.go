package docs

import (
	"regexp"
	"strings"
	"testing"
)

var block = regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```$")

// TestSnippets verifies that the code for operator authors is that of the examples, which are compiled and run, and that
// the rights are those in the description of the package, which its tests use.
func TestSnippets(t *testing.T) {
	sources := map[string]string{
		"go": flat(read(t, "../pkg/probe/example_test.go"), ""), "yaml": flat(read(t, "../pkg/probe/doc.go"), "//"),
	}
	crd := flat(read(t, "../e2e/samples/annotated/bundle/1.0.0/manifests/foo.crd.yaml"), "")
	csv := flat(read(t, "../e2e/samples/direct/bundle/1.1.0/manifests/direct.clusterserviceversion.yaml"), "")
	count := map[string]int{}
	for _, found := range block.FindAllStringSubmatch(read(t, "operator-authors.md"), -1) {
		language, text := found[1], found[2]
		count[language]++
		if strings.Contains(text, "annotations:") {
			for line := range strings.Lines(text) {
				if !strings.Contains(crd, flat(line, "")) {
					t.Errorf("the sample's CustomResourceDefinition does not contain %q", line)
				}
			}
			continue
		}
		if !strings.Contains(sources[language], flat(text, "")) {
			t.Errorf("this is in no example:\n%s", text)
		}
		if rules, are := strings.CutPrefix(text, "rules:\n"); are && !strings.Contains(csv, flat(rules, "")) {
			t.Errorf("the sample's ClusterServiceVersion does not contain\n%s", rules)
		}
	}
	if count["go"] != 3 || count["yaml"] != 2 {
		t.Errorf("%v snippets were found", count)
	}
}

// flat returns text without the indentation of its lines, after a prefix that starts each.
func flat(text, prefix string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString(strings.TrimLeft(strings.TrimPrefix(line, prefix), " \t"))
	}
	return out.String()
}
