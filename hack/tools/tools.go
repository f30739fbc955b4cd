//go:build tools

// Package tools pins the tools that the Makefile builds into bin/.
package tools

import (
	_ "github.com/bokwoon95/wgo"
	_ "github.com/golangci/golangci-lint/v2/cmd/golangci-lint"
	_ "golang.org/x/vuln/cmd/govulncheck"
	_ "sigs.k8s.io/controller-tools/cmd/controller-gen"
	_ "sigs.k8s.io/kustomize/kustomize/v5"
)
