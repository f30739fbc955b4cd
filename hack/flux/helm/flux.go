//go:build tools

// Package flux imports Flux's helm-controller to keep its dependencies in go.sum.
package flux

import _ "github.com/fluxcd/helm-controller"
