package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/operator-framework/operator-registry/pkg/lib/encoding"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/apply"
	"github.com/operator-status/operator-status/internal/installer/olmv0/bridge"
	"github.com/operator-status/operator-status/internal/operator"
)

// reasonRemovedVersionInUse is the reason that check reports for versions that an update removes though clients use them.
const reasonRemovedVersionInUse = "RemovedVersionInUse"

// definitionKind is the kind of a CustomResourceDefinition.
const definitionKind = "CustomResourceDefinition"

// addBreaks adds blockers to operators whose updates would break custom resources. Archives do not contain those.
func (o *options) addBreaks(ctx context.Context, plans []olm.InstallPlan, operators []operator.Operator) error {
	if len(o.from) > 0 {
		if slices.ContainsFunc(operators, func(op operator.Operator) bool { _, waits := waiting(plans, &op); return waits }) {
			fmt.Fprintln(o.ErrOut, "Warning: cannot check whether updates would break custom resources: archives do not contain them")
		}
		return nil
	}
	c, err := o.clientOfAnyKind()
	if err != nil {
		return err
	}
	for _, note := range breaks(ctx, c, plans, operators) {
		fmt.Fprintf(o.ErrOut, "Warning: %s\n", note)
	}
	return nil
}

// addKnownBreaks is addBreaks for a user who asks why an update has not been installed: for InstallPlans that wait, and only a warning is printed
// if it cannot be checked.
func (o *options) addKnownBreaks(ctx context.Context, plans []olm.InstallPlan, operators []operator.Operator) error {
	plans = slices.DeleteFunc(slices.Clone(plans), func(p olm.InstallPlan) bool { return !bridge.Waits(&p) })
	var unread [][]string
	for _, op := range operators {
		unread = append(unread, op.Unread)
	}
	err := o.addBreaks(ctx, plans, operators)
	for i := range operators {
		operators[i].Unread = unread[i]
	}
	return err
}

// breaks adds blockers to operators whose incomplete InstallPlan would break custom resources. If it cannot check that, it
// adds to Unread and returns a note.
func breaks(ctx context.Context, c client.Reader, plans []olm.InstallPlan, operators []operator.Operator) (notes []string) {
	for i := range operators {
		op := &operators[i]
		key, waits := waiting(plans, op)
		if !waits {
			continue
		}
		plan := &olm.InstallPlan{}
		if err := c.Get(ctx, key, plan); err != nil {
			notes = append(notes, fmt.Sprintf("cannot check whether %s breaks custom resources: %v", op.Update, err))
			op.Unread = append(op.Unread, "CustomResourceDefinitions")
			continue
		}
		for _, step := range plan.Status.Plan {
			if step.Resource.Kind != definitionKind || step.Resolving != op.Update {
				continue
			}
			found, err := broken(ctx, c, plan, step)
			if err != nil {
				notes = append(notes, fmt.Sprintf("cannot check whether CustomResourceDefinition %s of %s breaks custom resources: %v",
					step.Resource.Name, step.Resolving, err))
				op.Unread = append(op.Unread, "CustomResourceDefinition "+step.Resource.Name)
			}
			op.Blockers = slices.Concat(found, op.Blockers) // broken first
		}
	}
	return notes
}

// waiting returns the InstallPlan that is to install the update of an operator.
func waiting(plans []olm.InstallPlan, op *operator.Operator) (types.NamespacedName, bool) {
	for i := range plans {
		plan := &plans[i]
		if plan.Namespace == op.Namespace && op.Update != "" && plan.Status.Phase != olm.InstallPlanPhaseComplete &&
			slices.Contains(plan.Spec.ClusterServiceVersionNames, op.Update) {
			return client.ObjectKeyFromObject(plan), true
		}
	}
	return types.NamespacedName{}, false
}

// broken returns a blocker if the CustomResourceDefinition of a step would break custom resources or their clients.
func broken(ctx context.Context, c client.Reader, plan *olm.InstallPlan, step *olm.Step) ([]operator.Blocker, error) {
	object, err := manifestOf(ctx, c, step)
	if err != nil {
		return nil, err
	}
	reason, why, err := breakage(ctx, c, object)
	if reason == "" || err != nil {
		return nil, err
	}
	return []operator.Blocker{{
		Impact: operator.Broken, By: "InstallPlan " + plan.Namespace + "/" + plan.Name, Reason: reason,
		Cause: fmt.Sprintf("The new CustomResourceDefinition %s %s", object.GetName(), why),
		Steps: []operator.Step{{To: "To see the custom resources", Command: operator.Command("kubectl get %s -A", object.GetName())}},
	}}, nil
}

// breakage returns the reason and a clause if a CustomResourceDefinition would break custom resources or their clients.
func breakage(ctx context.Context, c client.Reader, object *unstructured.Unstructured) (reason, why string, err error) {
	why, err = apply.CheckCRD(ctx, c, object, func(types.NamespacedName) bool { return true })
	if err != nil {
		return "", "", err
	}
	if why != "" {
		return v1alpha1.PlanReasonCRDUpdateUnsafe, "would break existing custom resources: " + why, nil
	}
	use, err := removedVersionInUse(ctx, c, object)
	if use == "" || err != nil {
		return "", "", err
	}
	return reasonRemovedVersionInUse, "no longer serves a version in use: " + use, nil
}

// removedVersionInUse describes a custom resource that a field manager writes in a version that a new definition no longer
// serves, or returns "".
func removedVersionInUse(ctx context.Context, c client.Reader, object *unstructured.Unstructured) (string, error) {
	before, after := &apiextensionsv1.CustomResourceDefinition{}, &apiextensionsv1.CustomResourceDefinition{}
	if err := c.Get(ctx, client.ObjectKeyFromObject(object), before); err != nil {
		return "", client.IgnoreNotFound(err)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, after); err != nil {
		return "", err
	}
	stays := served(after)
	removed := slices.DeleteFunc(served(before), func(version string) bool { return slices.Contains(stays, version) })
	if len(removed) == 0 {
		return "", nil
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: before.Spec.Group, Version: removed[0], Kind: before.Spec.Names.Kind + "List"})
	for {
		if err := c.List(ctx, list, client.Limit(page), client.Continue(list.GetContinue())); err != nil {
			return "", fmt.Errorf("listing %s: %w", before.Name, err)
		}
		for i := range list.Items {
			o := &list.Items[i]
			for _, version := range removed {
				if manager := writtenBy(o, before.Spec.Group+"/"+version); manager != "" {
					return fmt.Sprintf("%s writes %s %s in %s", manager, before.Spec.Names.Kind, client.ObjectKeyFromObject(o), version), nil
				}
			}
		}
		if list.GetContinue() == "" {
			return "", nil
		}
	}
}

// served returns the versions that a definition serves.
func served(crd *apiextensionsv1.CustomResourceDefinition) []string {
	var out []string
	for _, v := range crd.Spec.Versions {
		if v.Served {
			out = append(out, v.Name)
		}
	}
	return out
}

// writtenBy returns the field manager that writes a custom resource, other than its status, in a version. A manager that
// also writes its status is the operator's own, which changes with the update.
func writtenBy(o *metav1.PartialObjectMetadata, apiVersion string) string {
	for _, m := range o.ManagedFields {
		writesStatus := func(other metav1.ManagedFieldsEntry) bool {
			return other.Manager == m.Manager && other.Subresource == "status"
		}
		if m.APIVersion == apiVersion && !slices.ContainsFunc(o.ManagedFields, writesStatus) {
			return m.Manager
		}
	}
	return ""
}

// manifestOf returns the object of a step. The built-in loops compress long manifests, and OLM has those of bundle images in a
// ConfigMap, to which the step refers.
func manifestOf(ctx context.Context, c client.Reader, step *olm.Step) (*unstructured.Unstructured, error) {
	text := []byte(step.Resource.Manifest)
	if packed, is := strings.CutPrefix(step.Resource.Manifest, v1alpha1.PlanManifestCompressed); is {
		var err error
		if text, err = encoding.GzipBase64Decode([]byte(packed)); err != nil {
			return nil, fmt.Errorf("decompressing its manifest: %w", err)
		}
	}
	out := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(text, &out.Object); err != nil {
		return nil, fmt.Errorf("decoding its manifest: %w", err)
	}
	if out.GetKind() == "ConfigMap" && step.Resource.Kind != "ConfigMap" {
		key := types.NamespacedName{}
		key.Namespace, _, _ = unstructured.NestedString(out.Object, "namespace") // empty if missing or invalid
		key.Name, _, _ = unstructured.NestedString(out.Object, "name")
		return unpacked(ctx, c, key, step)
	}
	return out, nil
}

// Of OLM: the annotation and its value of a ConfigMap that has an unpacked bundle in compressed form.
const (
	annotationEncoding = "olm.contentEncoding"
	encodingGzip       = "gzip+base64"
)

// unpacked returns the object of a step from the ConfigMap of its bundle, which has a file in each key.
func unpacked(ctx context.Context, c client.Reader, bundle types.NamespacedName, step *olm.Step) (*unstructured.Unstructured, error) {
	files := &corev1.ConfigMap{}
	if err := c.Get(ctx, bundle, files); err != nil {
		return nil, fmt.Errorf("reading its bundle: %w", err)
	}
	for _, file := range slices.Sorted(maps.Keys(files.BinaryData)) {
		text := files.BinaryData[file]
		if files.Annotations[annotationEncoding] == encodingGzip {
			var err error
			if text, err = encoding.GzipBase64Decode(text); err != nil {
				return nil, fmt.Errorf("decompressing %s in ConfigMap %s: %w", file, bundle, err)
			}
		}
		if out := objectOf(text, step); out != nil {
			return out, nil
		}
	}
	for _, file := range slices.Sorted(maps.Keys(files.Data)) {
		if out := objectOf([]byte(files.Data[file]), step); out != nil {
			return out, nil
		}
	}
	return nil, fmt.Errorf("ConfigMap %s does not contain its manifest", bundle)
}

// objectOf returns the object in a file of a bundle if it is that of a step, or nil.
func objectOf(file []byte, step *olm.Step) *unstructured.Unstructured {
	out := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(file, &out.Object); err != nil || out.GetKind() != step.Resource.Kind || out.GetName() != step.Resource.Name {
		return nil // a bundle may have other files
	}
	return out
}
