// Package install tests the manifests that a release consists of.
package install

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// TestWithoutDefinitions verifies that deleting the manifests deletes no CustomResourceDefinition, and that nothing else is missing from them.
func TestWithoutDefinitions(t *testing.T) {
	for folder, of := range map[string]string{"install": "default", "install/lifecycle": "lifecycle"} {
		t.Run(folder, func(t *testing.T) {
			definition := regexp.MustCompile(`(?m)^kind: CustomResourceDefinition$`)
			all := objects(t, of)
			want := slices.DeleteFunc(slices.Clone(all), definition.MatchString)
			if len(want) == len(all) {
				t.Fatalf("config/%s has no definitions", of)
			}
			if got := objects(t, folder); !slices.Equal(got, want) {
				t.Errorf("config/%s has %d objects, want the %d of config/%s that are no definitions", folder, len(got), len(want), of)
			}
		})
	}
}

// objects returns the manifests of a folder of config.
func objects(t *testing.T, folder string) []string {
	t.Helper()
	out, err := testcluster.Manifests(folder)
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Split(strings.TrimSpace(string(out)), "\n---\n")
	slices.Sort(all)
	return all
}
