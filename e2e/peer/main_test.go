// Package peer compares the built-in loops with a real OLM, and both with direct apply of the same manifests. Each runs
// on a cluster of its own with fake nodes and the same catalog: the packages in the folder that the environment
// variable BUNDLES names, or else a few made-up packages that cover everything a bundle may contain.
package peer

import (
	"fmt"
	"os"
	"testing"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/operator-status/operator-status/internal/test/testcluster"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	code := m.Run()
	testcluster.PrintLogs()
	fmt.Println("nodes: fake")
	os.Exit(code)
}
