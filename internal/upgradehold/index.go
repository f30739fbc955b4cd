package upgradehold

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	upgradeholdstatus "github.com/operator-status/operator-status/internal/status/upgradehold"
)

// +kubebuilder:rbac:groups=operatorstatus.io,resources=upgradeholdindices,verbs=get;list;watch;create;update;delete

// WriteIndex makes the index that of all UpgradeHolds. Where it gets another number of parts, the new ones are written before the old
// ones are deleted, so that what is held stays so.
func WriteIndex(ctx context.Context, c client.Client) error {
	holds, actual := &holdv1alpha1.UpgradeHoldList{}, &holdv1alpha1.UpgradeHoldIndexList{}
	for _, list := range []client.ObjectList{holds, actual} {
		if err := c.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return fmt.Errorf("listing the UpgradeHolds and their index: %w", err)
		}
	}
	desired := upgradeholdstatus.Index(holds.Items)
	existing := map[string]*holdv1alpha1.UpgradeHoldIndex{}
	for i := range actual.Items {
		existing[actual.Items[i].Name] = &actual.Items[i]
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(desired)) {
		errs = append(errs, writePart(ctx, c, name, desired[name], existing[name]))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for name, part := range existing {
		if _, keep := desired[name]; !keep {
			errs = append(errs, deletePart(ctx, c, part))
		}
	}
	return errors.Join(errs...)
}

// writePart creates or updates a part of the index.
func writePart(ctx context.Context, c client.Client, name string, spec holdv1alpha1.UpgradeHoldIndexSpec, actual *holdv1alpha1.UpgradeHoldIndex) error {
	var err error
	switch {
	case actual == nil:
		part := &holdv1alpha1.UpgradeHoldIndex{Spec: spec}
		part.Name = name
		err = c.Create(ctx, part, client.FieldOwner(FieldOwner))
	case !equality.Semantic.DeepEqual(actual.Spec, spec):
		part := actual.DeepCopy()
		part.Spec = spec
		err = c.Update(ctx, part, client.FieldOwner(FieldOwner))
	}
	if err != nil {
		return fmt.Errorf("writing UpgradeHoldIndex %s: %w", name, err)
	}
	return nil
}

// deletePart deletes a part of the index as it was read.
func deletePart(ctx context.Context, c client.Client, part *holdv1alpha1.UpgradeHoldIndex) error {
	err := c.Delete(ctx, part, client.Preconditions{UID: &part.UID, ResourceVersion: &part.ResourceVersion})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting UpgradeHoldIndex %s: %w", part.Name, err)
	}
	return nil
}
