// Package peer holds the built-in loops against a real OLM, and both against the mere application of the same manifests.
// Each gets a cluster of its own, on fake nodes, and the same catalog of packages: those of the folder BUNDLES, or, where
// that names none, a few that are made up to have one of everything.
package peer

import (
	"fmt"
	"os"
	"testing"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	code := m.Run()
	fmt.Println("nodes: fake")
	os.Exit(code)
}
