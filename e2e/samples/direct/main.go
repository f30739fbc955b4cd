// The direct operator holds its updates by writing its Probe.
package main

import (
	"context"
	"errors"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/operator-status/operator-status/e2e/samples/foo"
	"github.com/operator-status/operator-status/pkg/probe"
)

func main() { foo.Main(newReport) }

// newReport returns a function that reports the Foos that are migrated in the operator's Probe.
func newReport(mgr ctrl.Manager) (foo.Report, error) {
	d, err := discovery.NewDiscoveryClientForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, err
	}
	own := probe.New(mgr.GetClient(), d)
	return func(ctx context.Context, migrating []string) (time.Duration, error) {
		status, reason, message := metav1.ConditionTrue, "Idle", "No Foo is being migrated"
		if len(migrating) > 0 {
			status, reason, message = metav1.ConditionFalse, "Migrating", "Foos are being migrated: "+strings.Join(migrating, ", ")
		}
		err := own.SetUpgradeable(ctx, status, reason, message)
		if errors.Is(err, probe.ErrNotServed) {
			return probe.RecheckInterval, nil // operator-status may be installed later
		}
		return 0, err
	}, nil
}
