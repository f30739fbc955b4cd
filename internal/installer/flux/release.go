package flux

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/internal/installer"
)

// Lengths of the names of Helm releases, and of the hash in those that helm-controller shortens.
const (
	longestRelease = 53
	hashInRelease  = 12
)

// Release returns the namespace and the name of the release that a HelmRelease installs, as helm-controller derives them.
func Release(o *unstructured.Unstructured) types.NamespacedName {
	text := func(field string) string {
		out, _, _ := unstructured.NestedString(o.Object, "spec", field) // none if malformed
		return out
	}
	target := text("targetNamespace")
	name := o.GetName()
	if target != "" {
		name = target + "-" + name
	}
	if name = cmp.Or(text("releaseName"), name); len(name) > longestRelease {
		sum := sha256.Sum256([]byte(name))
		name = name[:longestRelease-1-hashInRelease] + "-" + hex.EncodeToString(sum[:])[:hashInRelease]
	}
	return types.NamespacedName{Namespace: cmp.Or(target, o.GetNamespace()), Name: name}
}

// AppliesIn reports whether a HelmRelease or Kustomization has objects in a namespace. Labels of workloads are no proof of that: a
// tenant can give them any.
func AppliesIn(namespace string, o *unstructured.Unstructured) bool {
	if o.GetKind() == installer.HelmRelease.Kind {
		return Release(o).Namespace == namespace
	}
	entries, _, _ := unstructured.NestedSlice(o.Object, "status", "inventory", "entries") // none if malformed
	return slices.ContainsFunc(entries, func(entry any) bool {
		fields, _ := entry.(map[string]any)
		id, _ := fields["id"].(string)
		return strings.HasPrefix(id, namespace+"_")
	})
}
