//go:build tools

// Package krew imports krew, which installs plugins of kubectl, to keep its dependencies in go.sum.
package krew

import (
	_ "sigs.k8s.io/krew/cmd/krew"
	_ "sigs.k8s.io/krew/cmd/validate-krew-manifest"
)
