// Package docs verifies that the documents in this folder match the repository.
package docs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// urls is used in the tables in place of the API group if a rule is about URLs.
const urls = "non-resource URL"

// right is one verb on one resource.
type right struct{ Role, Group, Resource, Verb string }

// TestRights verifies that rights.md has a reason for every rule of a role in config, and none for a rule that does not
// exist.
func TestRights(t *testing.T) {
	reasons := documented(t, read(t, "rights.md"))
	rights := granted(t, "../config")
	for _, r := range rights {
		if _, ok := reasons[r]; !ok {
			t.Errorf("rights.md has no reason why %s has %s on %q in API group %q", r.Role, r.Verb, r.Resource, r.Group)
		}
	}
	for r := range reasons {
		if !slices.Contains(rights, r) {
			t.Errorf("rights.md has a reason why %s has %s on %q in API group %q, which it has not", r.Role, r.Verb, r.Resource, r.Group)
		}
	}
}

// TestRightsTable verifies that documented returns every row of a table.
func TestRightsTable(t *testing.T) {
	got := documented(t, "### `a`\n| API group | Resources | Verbs | Reason |\n|---|---|---|---|\n"+
		"| `\"\"` | `pods`, `leases` only `b` | `get`, `list` | c |\n### `d`\n| "+urls+" | `*` | `*` | e |\n## F\n| g | h |\n")
	want := map[right]string{
		{"a", "", "pods", "get"}: "c", {"a", "", "pods", "list"}: "c", {"a", "", "leases only b", "get"}: "c", {"a", "", "leases only b", "list"}: "c",
		{"d", urls, "*", "*"}: "e",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// documented returns the reason for each right in the tables under a heading that names a role.
func documented(t *testing.T, text string) map[right]string {
	t.Helper()
	out := map[right]string{}
	role := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") {
			role = ""
			if name, ok := strings.CutPrefix(line, "### "); ok {
				role = strings.Trim(name, "`")
			}
		}
		if role == "" || !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|---") || strings.HasPrefix(line, "| API group") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		const columns = 4
		if len(cells) != columns {
			t.Fatalf("this row has %d columns: %s", len(cells), line)
		}
		reason := strings.TrimSpace(cells[3])
		if reason == "" {
			t.Errorf("this row has no reason: %s", line)
		}
		for _, resource := range list(cells[1]) {
			for _, verb := range list(cells[2]) {
				r := right{role, strings.Trim(list(cells[0])[0], `"`), resource, verb}
				if _, ok := out[r]; ok {
					t.Errorf("this row repeats another, with %s on %s: %s", verb, resource, line)
				}
				out[r] = reason
			}
		}
	}
	return out
}

// list returns the items in a cell, without code quotes.
func list(cell string) []string {
	return strings.Split(strings.TrimSpace(strings.ReplaceAll(cell, "`", "")), ", ")
}

// granted returns the rights in the Roles and ClusterRoles of the YAML files in a folder, except samples.
func granted(t *testing.T, folder string) []right {
	t.Helper()
	var out []right
	if err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == "samples":
			return fs.SkipDir
		case filepath.Ext(path) != ".yaml":
			return nil
		}
		documents := yaml.NewYAMLOrJSONDecoder(strings.NewReader(read(t, path)), 4096)
		for {
			var raw json.RawMessage
			if err := documents.Decode(&raw); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			var kind metav1.TypeMeta
			if err := json.Unmarshal(raw, &kind); err != nil || kind.Kind != "Role" && kind.Kind != "ClusterRole" {
				continue // it is a patch, or another object
			}
			var role rbacv1.ClusterRole // a Role has no other fields
			if err := json.Unmarshal(raw, &role); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			for _, rule := range role.Rules {
				out = append(out, allowed(role.Name, rule)...)
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

// allowed returns the rights in a rule of a role.
func allowed(role string, rule rbacv1.PolicyRule) []right {
	var out []right
	for _, verb := range rule.Verbs {
		for _, url := range rule.NonResourceURLs {
			out = append(out, right{role, urls, url, verb})
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				if len(rule.ResourceNames) > 0 {
					resource += " only " + strings.Join(rule.ResourceNames, " ")
				}
				out = append(out, right{role, group, resource, verb})
			}
		}
	}
	return out
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Clean(file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
