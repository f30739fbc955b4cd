//go:build tools

// Package kwok pins the kwok that a devcluster builds.
package kwok

import _ "sigs.k8s.io/kwok/cmd/kwok"
