//go:build tools

// Package k9s imports k9s, whose configuration tests use, so that go.sum covers its dependencies.
package k9s

import _ "github.com/derailed/k9s"
