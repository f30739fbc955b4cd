//go:build tools

// Package monitoring imports dashboard-linter to keep its dependencies in go.sum.
package monitoring

import _ "github.com/grafana/dashboard-linter"
