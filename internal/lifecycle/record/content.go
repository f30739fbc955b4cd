package record

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/internal/apply"
)

// Content is what an approved InstallPlan installs, and as whom. From when the first object is written until the last one is
// nothing else is consulted: neither the catalog, which may have changed, nor the status of the plan, which is no source.
type Content struct {
	Identity apply.Identity `json:"identity"`
	Bundles  []Bundle       `json:"bundles"`
}

// Bundle is one version of an operator, in the order in which they are installed.
type Bundle struct {
	// Name is that of its ClusterServiceVersion.
	Name    string               `json:"name"`
	Package string               `json:"package"`
	Catalog types.NamespacedName `json:"catalog"`

	// Replaces is the ClusterServiceVersion that it replaces in the namespace, whatever its manifest says; empty if none.
	Replaces string `json:"replaces,omitempty"`

	// Subscription that it is installed for.
	Subscription string `json:"subscription,omitempty"`

	// Properties of the bundle, as JSON, as OLM annotates ClusterServiceVersions with them.
	Properties string `json:"properties,omitempty"`

	// Digest of its image, and the authorities that signed that; empty if the catalog holds the objects, or no signature is demanded.
	Digest   string `json:"digest,omitempty"`
	SignedBy string `json:"signedBy,omitempty"`

	// Objects are its manifests, the ClusterServiceVersion among them.
	Objects []*unstructured.Unstructured `json:"objects"`
}

// Bundle returns the bundle of that name; zero if there is none.
func (c *Content) Bundle(name string) Bundle {
	for _, b := range c.Bundles {
		if b.Name == name {
			return b
		}
	}
	return Bundle{}
}

// Equal reports whether two contents are the same, so that what was approved of one holds for the other.
func (c *Content) Equal(other *Content) bool { return equality.Semantic.DeepEqual(c, other) }

// KeepContent keeps the content of an InstallPlan.
func (s *Store) KeepContent(ctx context.Context, plan types.NamespacedName, uid types.UID, content *Content) error {
	if err := s.write(ctx, s.secret(kindContent, plan, contentName(uid)), content); err != nil {
		return fmt.Errorf("keeping the content of InstallPlan %s: %w", plan, err)
	}
	return nil
}

// Content returns what was kept for an InstallPlan; nil if nothing was.
func (s *Store) Content(ctx context.Context, plan types.NamespacedName, uid types.UID) (*Content, error) {
	out := &Content{}
	found, err := s.read(ctx, s.Live, contentName(uid), out)
	if err != nil {
		return nil, fmt.Errorf("reading the content that was kept of InstallPlan %s: %w", plan, err)
	}
	if !found {
		return nil, nil
	}
	return out, nil
}

// DropContent deletes what was kept for an InstallPlan.
func (s *Store) DropContent(ctx context.Context, uid types.UID) error {
	return s.drop(ctx, contentName(uid))
}

// SweepContents deletes the contents of InstallPlans that need none any more.
func (s *Store) SweepContents(ctx context.Context, needed func(plan types.UID) bool) error {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	if err := s.Live.List(ctx, list, client.InNamespace(s.Namespace), client.MatchingLabels{labelKind: kindContent}); err != nil {
		return fmt.Errorf("listing the contents that are kept of InstallPlans: %w", err)
	}
	for _, item := range list.Items {
		uid := types.UID(strings.TrimPrefix(item.Name, kindContent+"-"))
		if needed(uid) {
			continue
		}
		if err := s.DropContent(ctx, uid); err != nil {
			return err
		}
	}
	return nil
}

func contentName(uid types.UID) string { return kindContent + "-" + string(uid) }
