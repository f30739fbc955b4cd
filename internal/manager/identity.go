package manager

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// leaseName is the name of the leader election lease.
const leaseName = "operator-status"

// newIdentity returns what this process is called among all that ever held the lease. It is written into the status of what
// this process reads, so that nobody relies on what a former holder read.
func newIdentity() (string, error) {
	host, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("reading the host's name: %w", err)
	}
	return host + "_" + string(uuid.NewUUID()), nil
}

// leaderLock is the lease that one of several managers holds under its identity.
func leaderLock(config *rest.Config, namespace, identity string) (resourcelock.Interface, error) {
	if namespace == "" {
		var err error
		if namespace, err = ownNamespace(); err != nil {
			return nil, err
		}
	}
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client for leader election: %w", err)
	}
	return resourcelock.New(resourcelock.LeasesResourceLock, namespace, leaseName, clients.CoreV1(), clients.CoordinationV1(),
		resourcelock.ResourceLockConfig{Identity: identity})
}

// inClusterNamespace is the file that holds the namespace of the pod's service account.
const inClusterNamespace = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// ownNamespace is the namespace of the manager's pod.
func ownNamespace() (string, error) {
	if namespace := os.Getenv("POD_NAMESPACE"); namespace != "" {
		return namespace, nil
	}
	text, err := os.ReadFile(inClusterNamespace)
	if errors.Is(err, os.ErrNotExist) {
		return "", errors.New("the manager runs outside a cluster, so that it has no namespace of its own: set --leader-election-namespace")
	}
	if err != nil {
		return "", fmt.Errorf("reading the manager's own namespace: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}
