package manager

import (
	"context"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// TestAwaitLeader verifies which Lease shows that a manager leads.
func TestAwaitLeader(t *testing.T) {
	lease := func(name, holder string, renewed time.Duration) *coordinationv1.Lease {
		at := metav1.NewMicroTime(time.Now().Add(-renewed))
		return &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: name},
			Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, AcquireTime: &at, RenewTime: &at, LeaseDurationSeconds: new(int32(15))},
		}
	}
	cases := map[string]struct {
		reason      string
		lease       *coordinationv1.Lease
		controllers Controllers
		want        string
	}{
		"Leads":     {"A manager that renews its Lease is the leader.", lease(leaseName, "pod_1", time.Second), ControllersAll, "system/operator-status: pod_1 has been the leader since"},
		"Status":    {"The status controllers use the same Lease as all controllers.", lease(leaseName, "pod_1", time.Second), ControllersStatus, "pod_1 has been the leader since"},
		"Lifecycle": {"The lifecycle controllers have their own Lease.", lease(lifecycleLeaseName, "pod_2", time.Second), ControllersLifecycle, "pod_2 has been the leader since"},
		"Other":     {"The Lease of the lifecycle controllers is not used for all controllers.", lease(lifecycleLeaseName, "pod_2", time.Second), ControllersAll, `"operator-status" not found`},
		"Released":  {"A released Lease has no leader.", lease(leaseName, "", time.Second), ControllersAll, "no manager holds the Lease"},
		"Expired":   {"A Lease that was not renewed has no leader.", lease(leaseName, "pod_1", time.Minute), ControllersAll, "pod_1 has not renewed it since"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			var out strings.Builder
			err := AwaitLeader(ctx, fake.NewClientBuilder().WithObjects(tc.lease).Build(), "system", tc.controllers, &out)
			got := out.String()
			if err != nil {
				got = err.Error()
			}
			if !strings.Contains(got, tc.want) || (err == nil) != strings.Contains(tc.want, "leader since") {
				t.Errorf("%s\ngot %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}
