package apply

import (
	"context"
	"fmt"
	"maps"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/csaupgrade"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/internal/kube"
)

// Writer writes objects under an identity.
type Writer struct {
	// Client acts as the identity.
	Client client.Client

	// Owner is the field manager of applied objects.
	Owner client.FieldOwner
}

// Apply applies an object with server-side apply. If the identity must not patch, but may create and update, which are
// the permissions that OLM needs, Apply creates the object or merges it into the existing one. Fields that OLM set
// earlier and that the object no longer has are removed.
func (w Writer) Apply(ctx context.Context, o *unstructured.Unstructured) error {
	desired := o.DeepCopy()
	if err := w.apply(ctx, o, false); err != nil {
		return err
	}
	if again, err := w.takeOver(ctx, o); !again || err != nil {
		return err
	}
	o.Object = desired.Object
	return w.apply(ctx, o, false)
}

// Update applies an existing object. Unlike Apply, it transfers OLM's fields first: after an error or a crash in between,
// the object still lacks the annotations of the desired one, among them the hash of its content, which means that nothing
// is left to do.
func (w Writer) Update(ctx context.Context, o *unstructured.Unstructured) error {
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(o.GroupVersionKind())
	switch err := w.Client.Get(ctx, client.ObjectKeyFromObject(o), live); {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		return w.Apply(ctx, o)
	case err != nil:
		return fmt.Errorf("getting %s %s: %w", o.GetKind(), o.GetName(), err)
	}
	if _, err := w.takeOver(ctx, live); err != nil {
		return err
	}
	return w.Apply(ctx, o)
}

// byOLM holds the field managers of OLM's two processes for updates.
var byOLM = sets.New("olm", "catalog")

// takeOver transfers the fields that OLM's processes own to our field manager, so they are removed when we no longer
// apply them. It reports whether it changed the object. CustomResourceDefinitions are exempt: a conversion webhook must
// never be without its CA bundle.
func (w Writer) takeOver(ctx context.Context, live *unstructured.Unstructured) (bool, error) {
	if live.GetKind() == "CustomResourceDefinition" {
		return false, nil
	}
	patch, err := csaupgrade.UpgradeManagedFieldsPatch(live, byOLM, string(w.Owner))
	if err != nil || len(patch) == 0 {
		return false, err
	}
	if err := w.Client.Patch(ctx, live.DeepCopy(), client.RawPatch(types.JSONPatchType, patch)); apierrors.IsForbidden(err) {
		return false, nil // OLM's fields stay if the identity must not patch
	} else if err != nil {
		return false, fmt.Errorf("taking over the fields of OLM in %s %s: %w", live.GetKind(), live.GetName(), err)
	}
	return true, nil
}

// DryRun asks the API server whether Apply would succeed. Nothing is persisted and o is not modified. A webhook that
// does not support dry runs is not an error.
func (w Writer) DryRun(ctx context.Context, o *unstructured.Unstructured) error {
	err := w.apply(ctx, o.DeepCopy(), true)
	if kube.DryRunUnsupported(err) {
		return nil
	}
	return err
}

// DryRunCreate asks the API server whether an object could be created, under a generated name. It is for objects whose
// existing namesake has to be deleted first.
func (w Writer) DryRunCreate(ctx context.Context, o *unstructured.Unstructured) error {
	o = o.DeepCopy()
	o.SetName("")
	o.SetGenerateName("dry-run-")
	err := w.Client.Create(ctx, o, w.Owner, client.DryRunAll)
	if kube.DryRunUnsupported(err) {
		return nil
	}
	return err
}

func (w Writer) apply(ctx context.Context, o *unstructured.Unstructured, dry bool) error {
	var options []client.ApplyOption
	if dry {
		options = append(options, client.DryRunAll)
	}
	before := o.DeepCopy()
	err := w.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), append(options, w.Owner, client.ForceOwnership)...)
	if !apierrors.IsForbidden(err) {
		return err
	}
	switch other := w.createOrUpdate(ctx, before, dry); {
	case other == nil:
		o.Object = before.Object
		return nil
	case apierrors.IsForbidden(other) && strings.Contains(err.Error(), "cannot patch resource"):
		return other // a missing right that OLM needs too, which users know how to grant; policies and quotas return err
	}
	return err
}

func (w Writer) createOrUpdate(ctx context.Context, o *unstructured.Unstructured, dry bool) error {
	var createOptions []client.CreateOption
	var updateOptions []client.UpdateOption
	if dry {
		createOptions, updateOptions = append(createOptions, client.DryRunAll), append(updateOptions, client.DryRunAll)
	}
	desired := o.DeepCopy()
	err := w.Client.Create(ctx, o, append(createOptions, w.Owner)...)
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(desired.GroupVersionKind())
	if err := w.Client.Get(ctx, client.ObjectKeyFromObject(desired), live); err != nil {
		return fmt.Errorf("getting %s %s: %w", desired.GetKind(), desired.GetName(), err)
	}
	o.Object = Overlay(live.Object, desired.Object).(map[string]any)
	o.SetOwnerReferences(merged(live.GetOwnerReferences(), desired.GetOwnerReferences()))
	return w.Client.Update(ctx, o, append(updateOptions, w.Owner)...)
}

// Overlay returns base with the values of desired: maps are merged recursively, everything else is replaced.
func Overlay(base, desired any) any {
	over, ok := desired.(map[string]any)
	under, is := base.(map[string]any)
	if !ok || !is {
		return desired
	}
	out := make(map[string]any, len(under))
	maps.Copy(out, under)
	for name, value := range over {
		out[name] = Overlay(out[name], value)
	}
	return out
}

// merged returns the union of the existing and the desired owner references, by UID.
func merged(have, want []metav1.OwnerReference) []metav1.OwnerReference {
	out := append([]metav1.OwnerReference(nil), want...)
	for _, h := range have {
		known := false
		for _, o := range out {
			known = known || o.UID == h.UID
		}
		if !known {
			out = append(out, h)
		}
	}
	return out
}
