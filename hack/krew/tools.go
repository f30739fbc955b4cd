//go:build tools

// Package krew imports krew, which installs plugins of kubectl, so that go.sum covers its dependencies.
package krew

import (
	_ "sigs.k8s.io/krew/cmd/krew"
	_ "sigs.k8s.io/krew/cmd/validate-krew-manifest"
)
