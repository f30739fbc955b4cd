package manager

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/internal/gate"
)

// Names of the leader election Leases.
const (
	leaseName          = "operator-status"           // of the manager that reads custom resources
	lifecycleLeaseName = "operator-status-lifecycle" // of a manager that only runs the built-in loops
)

// newIdentity returns a leader election identity that no other process ever has. A status records the identity of the
// process that read its inputs, so nothing relies on the readings of a former leader.
func newIdentity() (string, error) {
	host, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("reading the host's name: %w", err)
	}
	return host + "_" + string(uuid.NewUUID()), nil
}

// leaderLock returns the lock on a Lease, in the manager's own namespace if namespace is empty.
func leaderLock(config *rest.Config, namespace, name, identity string) (resourcelock.Interface, error) {
	if namespace == "" {
		var err error
		if namespace, err = ownNamespace(); err != nil {
			return nil, err
		}
	}
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("creating a client for leader election: %w", err)
	}
	return resourcelock.New(resourcelock.LeasesResourceLock, namespace, name, clients.CoreV1(), clients.CoordinationV1(),
		resourcelock.ResourceLockConfig{Identity: identity})
}

// leaseHolder returns a function that returns the identity of the manager that reads custom resources in another
// process.
func leaseHolder(reader client.Reader, namespace string) func(context.Context) (string, error) {
	key, holders := types.NamespacedName{Namespace: namespace, Name: leaseName}, &gate.ReaderLease{}
	return func(ctx context.Context) (string, error) {
		lease := &coordinationv1.Lease{}
		if err := reader.Get(ctx, key, lease); client.IgnoreNotFound(err) != nil {
			return "", fmt.Errorf("getting Lease %s of the manager that reads custom resources: %w", key, err)
		}
		return holders.Holder(lease, time.Now()), nil
	}
}

// inClusterNamespace is the file with the namespace of the pod's service account.
const inClusterNamespace = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// ownNamespace returns the namespace of the manager's pod: POD_NAMESPACE, or that of its service account. It returns an
// error outside a cluster.
func ownNamespace() (string, error) {
	if namespace := os.Getenv("POD_NAMESPACE"); namespace != "" {
		return namespace, nil
	}
	text, err := os.ReadFile(inClusterNamespace)
	if errors.Is(err, os.ErrNotExist) {
		return "", errors.New("the manager runs outside a cluster, so it has no namespace of its own: set --leader-election-namespace")
	}
	if err != nil {
		return "", fmt.Errorf("reading the manager's own namespace: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}
