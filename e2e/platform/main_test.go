// Package platform tests PlatformOperators on a cluster with controllers and fake nodes, whose loops are the built-in ones.
package platform

import (
	"os"
	"testing"

	"github.com/operator-status/operator-status/internal/testcluster"
)

var cluster *testcluster.Cluster

func TestMain(m *testing.M) {
	os.Exit(testcluster.OnDevcluster(m, "lifecycle", func(c *testcluster.Cluster, _ string) { cluster = c }))
}
