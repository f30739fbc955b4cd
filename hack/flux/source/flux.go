//go:build tools

// Package flux imports Flux's source-controller, so that go.sum covers its dependencies.
package flux

import _ "github.com/fluxcd/source-controller"
