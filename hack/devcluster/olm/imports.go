//go:build tools

// Package olm pins the commands of Operator Lifecycle Manager that a devcluster builds, so that go.sum covers both.
package olm

import (
	_ "github.com/operator-framework/operator-lifecycle-manager/cmd/catalog"
	_ "github.com/operator-framework/operator-lifecycle-manager/cmd/olm"
)
