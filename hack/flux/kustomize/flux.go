//go:build tools

// Package flux imports Flux's kustomize-controller, so that go.sum covers its dependencies.
package flux

import _ "github.com/fluxcd/kustomize-controller"
