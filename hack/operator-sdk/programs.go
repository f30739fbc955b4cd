//go:build tools

// Package operatorsdk imports operator-sdk, so that go.sum covers its dependencies.
package operatorsdk

import (
	_ "github.com/operator-framework/operator-sdk/cmd/operator-sdk"
	_ "github.com/operator-framework/operator-sdk/images/scorecard-test"
)
