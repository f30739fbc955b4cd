//go:build tools

// Package argocd imports Argo CD, so that go.sum covers its dependencies.
package argocd

import _ "github.com/argoproj/argo-cd/v3/cmd"
