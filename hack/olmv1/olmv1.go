//go:build tools

// Package olmv1 imports the programs of OLM v1 to keep their dependencies in go.sum.
package olmv1

import (
	_ "github.com/operator-framework/operator-controller/cmd/catalogd"
	_ "github.com/operator-framework/operator-controller/cmd/operator-controller"
)
