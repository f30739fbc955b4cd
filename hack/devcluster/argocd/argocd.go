//go:build tools

// Package argocd imports Argo CD to keep its dependencies in go.sum.
package argocd

import _ "github.com/argoproj/argo-cd/v3/cmd"
