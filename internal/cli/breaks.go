package cli

import (
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/apply"
	"github.com/operator-status/operator-status/internal/inventory"
)

// addBreaks adds to operators what their updates would break. An archive does not have what that depends on.
func (o *options) addBreaks(ctx context.Context, plans []olm.InstallPlan, operators []inventory.Operator) error {
	if o.from != "" {
		return nil
	}
	c, err := o.clientOfAnyKind()
	if err != nil {
		return err
	}
	notes, err := breaks(ctx, c, plans, operators)
	for _, note := range notes {
		fmt.Fprintf(o.ErrOut, "Warning: %s\n", note)
	}
	return err
}

// breaks adds to operators with an InstallPlan that is not installed yet what it would break, and returns what could not be
// checked.
func breaks(ctx context.Context, c client.Reader, plans []olm.InstallPlan, operators []inventory.Operator) (notes []string, err error) {
	for i := range operators {
		op := &operators[i]
		key, waits := waiting(plans, op)
		if !waits {
			continue
		}
		plan := &olm.InstallPlan{}
		if err := c.Get(ctx, key, plan); err != nil {
			return notes, fmt.Errorf("reading InstallPlan %s: %w", key, err)
		}
		for _, step := range plan.Status.Plan {
			if step.Resource.Kind != "CustomResourceDefinition" || step.Resolving != op.Update {
				continue
			}
			why, note := incompatible(ctx, c, step)
			if note != "" {
				notes = append(notes, note)
			}
			if why != "" {
				op.Blockers = slices.Insert(op.Blockers, 0, unsafe(plan, step.Resource.Name, why)) // what is broken comes first
			}
		}
	}
	return notes, nil
}

// waiting returns the InstallPlan that is to install the update of an operator.
func waiting(plans []olm.InstallPlan, op *inventory.Operator) (types.NamespacedName, bool) {
	for i := range plans {
		plan := &plans[i]
		if plan.Namespace == op.Namespace && op.Update != "" && plan.Status.Phase != olm.InstallPlanPhaseComplete &&
			slices.Contains(plan.Spec.ClusterServiceVersionNames, op.Update) {
			return client.ObjectKeyFromObject(plan), true
		}
	}
	return types.NamespacedName{}, false
}

// incompatible returns why the CustomResourceDefinition of a step must not replace that of the cluster, or what could not be
// checked.
func incompatible(ctx context.Context, c client.Reader, step *olm.Step) (why, note string) {
	unchecked := "Whether CustomResourceDefinition " + step.Resource.Name + " of " + step.Resolving + " breaks custom resources is not checked: "
	crd, err := manifestOf(step)
	if err != nil {
		return "", unchecked + err.Error()
	}
	if why, err = apply.CheckCRD(ctx, c, crd); err != nil {
		return "", unchecked + err.Error()
	}
	return why, ""
}

// manifestOf returns the object of a step. OLM may refer to a ConfigMap instead, and the built-in loops compress large ones.
func manifestOf(step *olm.Step) (*unstructured.Unstructured, error) {
	var in io.Reader = strings.NewReader(step.Resource.Manifest)
	if packed, is := strings.CutPrefix(step.Resource.Manifest, v1alpha1.PlanManifestCompressed); is {
		zip, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(packed)))
		if err != nil {
			return nil, fmt.Errorf("decompressing its manifest: %w", err)
		}
		in = zip
	}
	out := &unstructured.Unstructured{}
	if err := json.NewDecoder(in).Decode(&out.Object); err != nil {
		return nil, fmt.Errorf("decoding its manifest: %w", err)
	}
	if out.GetKind() != step.Resource.Kind {
		return nil, fmt.Errorf("the InstallPlan has no manifest of it")
	}
	return out, nil
}

// unsafe returns the blocker for a CustomResourceDefinition that must not be replaced.
func unsafe(plan *olm.InstallPlan, crd, why string) inventory.Blocker {
	return inventory.Blocker{
		Impact: inventory.Broken, By: "InstallPlan " + plan.Namespace + "/" + plan.Name, Reason: v1alpha1.PlanReasonCRDUpdateUnsafe,
		Cause: fmt.Sprintf("The new CustomResourceDefinition %s would break what exists: %s", crd, why),
		Steps: []inventory.Step{{To: "To see the custom resources", Command: "kubectl get " + crd + " -A"}},
	}
}
