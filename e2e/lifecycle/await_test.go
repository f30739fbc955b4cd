package lifecycle

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// awaitNone waits until a list is empty.
func awaitNone(t *testing.T, list client.ObjectList, options ...client.ListOption) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, testcluster.Timeout, true, func(ctx context.Context) (bool, error) {
		if err := cluster.Client.List(ctx, list, options...); err != nil {
			return false, nil
		}
		return meta.LenList(list) == 0, nil
	})
	if err != nil {
		t.Errorf("%T is not empty: %v\n%+v", list, err, list)
	}
}
