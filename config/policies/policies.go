// Package policies has the ProbePolicies of this folder, for programs that are not beside it.
package policies

import (
	"embed"
	"fmt"
	"io/fs"

	"sigs.k8s.io/yaml"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
)

//go:embed */policy.yaml
var files embed.FS

// Policy is a ProbePolicy and its manifest, whose comment gives its reason and its source.
type Policy struct {
	holdv1alpha1.ProbePolicy

	Manifest string
}

// All returns the policies, sorted by name.
func All() ([]Policy, error) {
	names, err := fs.Glob(files, "*/policy.yaml")
	if err != nil {
		return nil, fmt.Errorf("listing the policies: %w", err)
	}
	out := make([]Policy, len(names))
	for i, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("reading a policy: %w", err)
		}
		out[i].Manifest = string(text)
		if err := yaml.UnmarshalStrict(text, &out[i].ProbePolicy); err != nil {
			return nil, fmt.Errorf("reading policy %s: %w", name, err)
		}
	}
	return out, nil
}
