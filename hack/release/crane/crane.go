//go:build tools

// Package crane imports crane, which runs the registries of tests, to keep its dependencies in go.sum.
package crane

import _ "github.com/google/go-containerregistry/cmd/crane"
