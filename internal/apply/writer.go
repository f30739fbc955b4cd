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

	"github.com/operator-status/operator-status/internal/apierror"
)

// Writer writes objects under an identity.
type Writer struct {
	// Client acts as the identity.
	Client client.Client

	// Owner is the field manager of what is applied.
	Owner client.FieldOwner
}

// Apply applies an object. An identity that may not patch, but may create and update, as OLM needs it, is served too: the
// object is created, or what it says is written over what is there. What an OLM wrote before and the object no longer says goes.
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

// byOLM are the field managers under which OLM's two processes update objects.
var byOLM = sets.New("olm", "catalog")

// takeOver has what OLM's processes set in an object be set by us, so that it goes once we do not say it any more. A definition keeps
// what it has: an operator's conversion webhook must not be without its certificate in between.
func (w Writer) takeOver(ctx context.Context, live *unstructured.Unstructured) (bool, error) {
	if live.GetKind() == "CustomResourceDefinition" {
		return false, nil
	}
	patch, err := csaupgrade.UpgradeManagedFieldsPatch(live, byOLM, string(w.Owner))
	if err != nil || len(patch) == 0 {
		return false, err
	}
	if err := w.Client.Patch(ctx, live.DeepCopy(), client.RawPatch(types.JSONPatchType, patch)); apierrors.IsForbidden(err) {
		return false, nil // what is too much stays
	} else if err != nil {
		return false, fmt.Errorf("taking over what OLM set in %s %s: %w", live.GetKind(), live.GetName(), err)
	}
	return true, nil
}

// DryRun asks the API server whether Apply would succeed. Nothing is persisted, and the object is left as it is. That a webhook
// does not support dry runs is no refusal.
func (w Writer) DryRun(ctx context.Context, o *unstructured.Unstructured) error {
	err := w.apply(ctx, o.DeepCopy(), true)
	if apierror.DryRunUnsupported(err) {
		return nil
	}
	return err
}

// DryRunCreate asks the API server whether an object could be created under another name, where one by its own name exists
// that has to be deleted first.
func (w Writer) DryRunCreate(ctx context.Context, o *unstructured.Unstructured) error {
	o = o.DeepCopy()
	o.SetName("")
	o.SetGenerateName("dry-run-")
	err := w.Client.Create(ctx, o, w.Owner, client.DryRunAll)
	if apierror.DryRunUnsupported(err) {
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
		return other // it names a right that OLM needs as well, and who grants rights for OLM knows. A policy or quota is told as such
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

// Overlay returns base with what desired says in its place: fields of objects are merged, everything else is replaced.
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

// merged are the owners that an object has and those that it should.
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
