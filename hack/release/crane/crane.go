//go:build tools

// Package crane imports crane, which runs the registries of tests, so that go.sum covers its dependencies.
package crane

import _ "github.com/google/go-containerregistry/cmd/crane"
