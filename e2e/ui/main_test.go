// Package ui tests the views of operators in a browser and in a terminal, the plugin for Headlamp and the configuration of
// k9s, on a cluster with controllers and fake nodes.
package ui

import (
	"fmt"
	"os"
	"testing"

	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// wanted is the environment variable with which these tests run. They need Node, npm packages, Chromium and k9s.
const wanted = "E2E_UI"

var cluster *testcluster.Cluster

func TestMain(m *testing.M) {
	if os.Getenv(wanted) == "" {
		fmt.Println("skipped: these tests need Node, Chromium, tmux and k9s: `make ui-test` runs them, with " + wanted + "=1")
		return
	}
	os.Exit(testcluster.OnDevcluster(m, "lifecycle", func(c *testcluster.Cluster, _ string) { cluster = c }))
}
