package upgradehold

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/internal/optin"
	upgradeholdstatus "github.com/operator-status/operator-status/internal/status/upgradehold"
)

// Index is the index of UpgradeHolds, in ConfigMaps in the manager's namespace.
type Index struct {
	Client client.Client // reads UpgradeHolds from a cache, and writes ConfigMaps
	Reader client.Reader // reads ConfigMaps

	Namespace string
}

// Parts returns the parts as they are.
func (x *Index) Parts(ctx context.Context) ([]upgradeholdstatus.Part, error) {
	list, err := x.list(ctx)
	if err != nil {
		return nil, err
	}
	var out []upgradeholdstatus.Part
	for i := range list {
		out = append(out, upgradeholdstatus.Part{Denies: list[i].Labels[holdv1alpha1.LabelDenies], Data: list[i].Data})
	}
	return out, nil
}

func (x *Index) list(ctx context.Context) ([]corev1.ConfigMap, error) {
	list := &corev1.ConfigMapList{}
	if err := x.Reader.List(ctx, list, client.InNamespace(x.Namespace), client.HasLabels{holdv1alpha1.LabelDenies}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the index of UpgradeHolds: %w", err)
	}
	return list.Items, nil
}

// Write makes the index that of all UpgradeHolds. Where it gets another number of parts, all new ones are written before the old
// ones are deleted, so that all updates stay denied. The parts of one kind do not wait for those of another.
func (x *Index) Write(ctx context.Context) error {
	holds := &holdv1alpha1.UpgradeHoldList{}
	if err := x.Client.List(ctx, holds, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing the UpgradeHolds: %w", err)
	}
	actual, err := x.list(ctx)
	if err != nil {
		return err
	}
	desired, existing := upgradeholdstatus.Index(holds.Items), map[string]*corev1.ConfigMap{}
	for i := range actual {
		existing[actual[i].Name] = &actual[i]
	}
	var errs []error
	incomplete := map[string]bool{} // the kinds of which a part was not written
	for _, name := range slices.Sorted(maps.Keys(desired)) {
		if err := x.writePart(ctx, name, desired[name], existing[name]); err != nil {
			errs, incomplete[desired[name].Denies] = append(errs, err), true
		}
	}
	for name, part := range existing {
		if _, keep := desired[name]; !keep && !incomplete[part.Labels[holdv1alpha1.LabelDenies]] {
			errs = append(errs, x.deletePart(ctx, part))
		}
	}
	return errors.Join(errs...)
}

// writePart creates or updates a part of the index.
func (x *Index) writePart(ctx context.Context, name string, part upgradeholdstatus.Part, actual *corev1.ConfigMap) error {
	desired := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: x.Namespace, Name: name, Labels: map[string]string{optin.Label: "upgradeholds", holdv1alpha1.LabelDenies: part.Denies},
		},
		Data: part.Data,
	}
	var err error
	switch {
	case actual == nil:
		err = x.Client.Create(ctx, desired, client.FieldOwner(FieldOwner))
	case !equality.Semantic.DeepEqual(actual.Data, desired.Data) || !equality.Semantic.DeepEqual(actual.Labels, desired.Labels):
		desired.ResourceVersion = actual.ResourceVersion
		err = x.Client.Update(ctx, desired, client.FieldOwner(FieldOwner))
	}
	if err != nil {
		return fmt.Errorf("writing ConfigMap %s of the index of UpgradeHolds: %w", name, err)
	}
	return nil
}

// deletePart deletes a part of the index as it was read.
func (x *Index) deletePart(ctx context.Context, part *corev1.ConfigMap) error {
	err := x.Client.Delete(ctx, part, client.Preconditions{UID: &part.UID, ResourceVersion: &part.ResourceVersion})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting ConfigMap %s of the index of UpgradeHolds: %w", part.Name, err)
	}
	return nil
}
