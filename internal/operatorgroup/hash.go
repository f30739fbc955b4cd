package operatorgroup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Hash returns a short hash of target namespaces, independent of their order.
func Hash(targets []string) string {
	sorted := slices.Sorted(slices.Values(targets))
	sum := sha256.Sum256([]byte(strings.Join(slices.Compact(sorted), "/")))
	return hex.EncodeToString(sum[:8])
}

// HashOf returns the hash of the target namespaces of a namespace's OperatorGroup. Unless exactly one exists, the targets
// are unknown and the hash is empty. The OperatorGroup is read with groups, and namespaces selected by label with
// namespaces.
func HashOf(ctx context.Context, groups, namespaces client.Reader, namespace string) (string, error) {
	group, problem, err := Find(ctx, groups, namespace)
	if err != nil || problem != nil {
		return "", err
	}
	targets, err := Targets(ctx, namespaces, group)
	return Hash(targets), err
}
