//go:build tools

// Package monitoring imports dashboard-linter, so that go.sum covers its dependencies.
package monitoring

import _ "github.com/grafana/dashboard-linter"
