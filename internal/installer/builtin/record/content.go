package record

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/internal/apply"
)

// Content is the content of an approved InstallPlan, and the identity that installs it. From the first write of the plan
// to the last, only this record is read: the catalog may have changed, and the status of the plan is not trusted.
type Content struct {
	Identity apply.Identity `json:"identity"`
	Bundles  []Bundle       `json:"bundles"`
}

// Bundle is one version of an operator. The bundles of a Content are in installation order.
type Bundle struct {
	// Name is the name of its CSV.
	Name    string               `json:"name"`
	Package string               `json:"package"`
	Catalog types.NamespacedName `json:"catalog"`

	// Replaces is the CSV that it replaces in the namespace, regardless of spec.replaces in the manifest, or empty.
	Replaces string `json:"replaces,omitempty"`

	// Subscription is the Subscription that it is installed for, if any.
	Subscription string `json:"subscription,omitempty"`

	// Properties holds the properties of the bundle as JSON, as OLM annotates CSVs with them.
	Properties string `json:"properties,omitempty"`

	// Digest is that of its image. It is empty if the catalog contains the objects. SignedBy names the authorities that
	// signed the image, if a signature is required.
	Digest   string `json:"digest,omitempty"`
	SignedBy string `json:"signedBy,omitempty"`

	// Objects are its manifests, including the CSV.
	Objects []*unstructured.Unstructured `json:"objects"`
}

// Bundle returns the bundle with that name, or the zero value if none exists.
func (c *Content) Bundle(name string) Bundle {
	for _, b := range c.Bundles {
		if b.Name == name {
			return b
		}
	}
	return Bundle{}
}

// Equal reports whether two contents are the same. The approval of one is then valid for the other.
func (c *Content) Equal(other *Content) bool { return equality.Semantic.DeepEqual(c, other) }

// KeepContent stores the content of an InstallPlan.
func (s *Store) KeepContent(ctx context.Context, plan types.NamespacedName, uid types.UID, content *Content) error {
	if err := s.write(ctx, s.secret(kindContent, plan, contentName(uid)), content); err != nil {
		return fmt.Errorf("storing the content of InstallPlan %s: %w", plan, err)
	}
	return nil
}

// Content returns the stored content of an InstallPlan, or nil.
func (s *Store) Content(ctx context.Context, plan types.NamespacedName, uid types.UID) (*Content, error) {
	out := &Content{}
	found, err := s.read(ctx, s.Live, contentName(uid), out)
	if err != nil {
		return nil, fmt.Errorf("reading the stored content of InstallPlan %s: %w", plan, err)
	}
	if !found {
		return nil, nil
	}
	return out, nil
}

// DropContent deletes the stored content of an InstallPlan.
func (s *Store) DropContent(ctx context.Context, uid types.UID) error {
	return s.drop(ctx, contentName(uid))
}

// SweepContents deletes the stored contents of all InstallPlans that needed reports false for.
func (s *Store) SweepContents(ctx context.Context, needed func(plan types.UID) bool) error {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	if err := s.Live.List(ctx, list, client.InNamespace(s.Namespace), client.MatchingLabels{labelKind: kindContent}); err != nil {
		return fmt.Errorf("listing the stored contents of InstallPlans: %w", err)
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
