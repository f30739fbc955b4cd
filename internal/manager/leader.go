package manager

import (
	"context"
	"fmt"
	"io"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// AwaitLeader waits until a manager leads, and prints which. With Controllers lifecycle that is the manager that runs
// only the built-in loops. A namespace of "" is that of the pod.
func AwaitLeader(ctx context.Context, reader client.Reader, namespace string, controllers Controllers, out io.Writer) error {
	if namespace == "" {
		var err error
		if namespace, err = ownNamespace(); err != nil {
			return err
		}
	}
	key := types.NamespacedName{Namespace: namespace, Name: leaseOf(controllers)}
	last := ""
	err := wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (bool, error) {
		lease := &coordinationv1.Lease{}
		switch err := reader.Get(ctx, key, lease); {
		case err != nil:
			last = err.Error()
		case ptr.Deref(lease.Spec.HolderIdentity, "") == "":
			last = "no manager holds the Lease"
		case expired(lease, time.Now()):
			last = fmt.Sprintf("%s has not renewed it since %s", *lease.Spec.HolderIdentity, lease.Spec.RenewTime.UTC().Format(time.RFC3339))
		default:
			fmt.Fprintf(out, "Lease %s: %s has been the leader since %s\n", key, *lease.Spec.HolderIdentity, lease.Spec.AcquireTime.UTC().Format(time.RFC3339))
			return true, nil
		}
		return false, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for a manager to acquire Lease %s: %s: see the logs of the Deployments in namespace %s", key, last, namespace)
	}
	return nil
}

// expired reports whether the holder of a Lease should have renewed it before a time.
func expired(lease *coordinationv1.Lease, now time.Time) bool {
	valid := time.Duration(ptr.Deref(lease.Spec.LeaseDurationSeconds, 0)) * time.Second
	return lease.Spec.AcquireTime == nil || lease.Spec.RenewTime == nil || now.After(lease.Spec.RenewTime.Add(valid))
}

// leaseOf returns the name of the Lease that managers with these controllers compete for.
func leaseOf(controllers Controllers) string {
	if controllers == ControllersLifecycle {
		return lifecycleLeaseName
	}
	return leaseName
}
