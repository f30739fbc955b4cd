package real

import (
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/operator-status/operator-status/internal/manager"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

func managerLease() *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: testcluster.ManagerAccount.Namespace, Name: "operator-status"}}
}

// TestFrozenLeader verifies that a leader whose processes stop is replaced, and that it writes nothing once they continue.
func TestFrozenLeader(t *testing.T) {
	d := deployManager(t, 2)
	foos := newFoos(t, "frozen")
	p := foos.probe(t)
	lease := managerLease()
	cluster.Await(t, lease, func() string {
		if ptr.Deref(lease.Spec.HolderIdentity, "") == "" {
			return "no pod holds the lease"
		}
		return ""
	})
	first, _, _ := strings.Cut(*lease.Spec.HolderIdentity, "_")
	var leader *corev1.Pod
	for _, pod := range podsOf(t, d) {
		if pod.Name == first {
			leader = &pod
		}
	}
	if leader == nil {
		t.Fatalf("the leader %s is not a pod of the Deployment", first)
	}
	foos.await(t, p, "Upgradeable=True/NoResources", "Synced=True/Synced")
	thaw := freeze(t, leader)
	foos.createMigrating(t, "a")
	cluster.Await(t, lease, func() string {
		if strings.HasPrefix(ptr.Deref(lease.Spec.HolderIdentity, ""), first+"_") {
			return "the frozen leader still holds the lease"
		}
		return ""
	})
	foos.await(t, p, "Upgradeable=False/NotUpgradeable")
	thawed := time.Now()
	thaw()
	old := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: leader.Namespace, Name: leader.Name}}
	cluster.Await(t, old, func() string {
		if len(old.Status.ContainerStatuses) == 0 || old.Status.ContainerStatuses[0].RestartCount == 0 {
			return "the former leader has not ended"
		}
		return ""
	})
	for _, r := range cluster.RequestsOf(t, thawed, manager.UserAgent) {
		if r.Pod() == leader.Name && r.IsWrite() && r.IsWork() && r.ObjectRef.Resource != "events" && r.ObjectRef.Resource != "subjectaccessreviews" {
			t.Errorf("the former leader wrote after the takeover: %s", r)
		}
	}
}
