//go:build tools

// Package registry pins the opm that a devcluster builds.
package registry

import _ "github.com/operator-framework/operator-registry/cmd/opm"
