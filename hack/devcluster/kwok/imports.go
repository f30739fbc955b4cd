//go:build tools

// Package kwok imports the kwok that a devcluster builds, to pin its version.
package kwok

import _ "sigs.k8s.io/kwok/cmd/kwok"
