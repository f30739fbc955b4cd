//go:build tools

// Package k9s imports k9s, whose configuration tests use, to keep its dependencies in go.sum.
package k9s

import _ "github.com/derailed/k9s"
