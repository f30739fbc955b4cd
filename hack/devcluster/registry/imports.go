//go:build tools

// Package registry imports the opm that a devcluster builds, to pin its version.
package registry

import _ "github.com/operator-framework/operator-registry/cmd/opm"
