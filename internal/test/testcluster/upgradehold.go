package testcluster

import (
	"context"
	"testing"

	"github.com/operator-status/operator-status/internal/upgradehold"
)

// IndexUpgradeHolds writes the index of the UpgradeHolds as they are, as a manager does.
func (c *Cluster) IndexUpgradeHolds(t testing.TB) {
	t.Helper()
	index := upgradehold.Index{Client: c.Client, Reader: c.Client, Namespace: ManagerAccount.Namespace}
	if err := index.Write(context.Background()); err != nil {
		t.Error(err)
	}
}
