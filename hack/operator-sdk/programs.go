//go:build tools

// Package operatorsdk imports operator-sdk to keep its dependencies in go.sum.
package operatorsdk

import (
	_ "github.com/operator-framework/operator-sdk/cmd/operator-sdk"
	_ "github.com/operator-framework/operator-sdk/images/scorecard-test"
)
