package installplan

import (
	"context"
	"encoding/json"
	"fmt"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/operator-framework/operator-registry/pkg/lib/encoding"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/status/condition"
)

const (
	// maxManifest is the total length of a plan's manifests above which they are compressed, in bytes. An object may
	// have 1.5 MiB, and a manifest becomes longer by escaping its quotes.
	maxManifest = 384 << 10

	// maxPlan limits the total length of a plan's compressed manifests, in bytes.
	maxPlan = 1 << 20
)

// stepsOf returns tasks as the steps of a status, for users who approve the plan. Steps are never read back to be
// applied.
func stepsOf(tasks []task) ([]*olm.Step, *condition.Problem) {
	out := make([]*olm.Step, 0, len(tasks))
	for _, t := range tasks {
		manifest, err := json.Marshal(t.object.Object)
		if err != nil {
			return nil, &condition.Problem{Reason: v1alpha1.ReasonBundleInvalid, Message: fmt.Sprintf("%s: %v", t.title(), err)}
		}
		gvk := t.object.GroupVersionKind()
		out = append(out, &olm.Step{
			Resolving: t.bundle.Name,
			Status:    olm.StepStatusUnknown,
			Resource: olm.StepResource{
				CatalogSource:          t.bundle.Catalog.Name,
				CatalogSourceNamespace: t.bundle.Catalog.Namespace,
				Group:                  gvk.Group, Version: gvk.Version, Kind: gvk.Kind,
				Name:     t.object.GetName(),
				Manifest: string(manifest),
			},
		})
	}
	if err := compress(out); err != nil {
		return nil, &condition.Problem{Reason: v1alpha1.PlanReasonTooLarge, Message: err.Error()}
	}
	return out, nil
}

func sameSteps(a, b []*olm.Step) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Resolving != b[i].Resolving || a[i].Resource != b[i].Resource {
			return false
		}
	}
	return true
}

// compress compresses the manifests if they are too long for one object.
func compress(steps []*olm.Step) error {
	if length(steps) <= maxManifest {
		return nil
	}
	for _, s := range steps {
		packed, err := encoding.GzipBase64Encode([]byte(s.Resource.Manifest))
		if err != nil {
			return err
		}
		s.Resource.Manifest = v1alpha1.PlanManifestCompressed + string(packed)
	}
	if n := length(steps); n > maxPlan {
		return fmt.Errorf("the plan's %d manifests take %d bytes compressed, and the limit of an object is %d: subscribe to the packages one by one",
			len(steps), n, maxPlan)
	}
	return nil
}

func length(steps []*olm.Step) (out int) {
	for _, s := range steps {
		out += len(s.Resource.Manifest)
	}
	return out
}

// steps returns the steps of a proposal for the status.
func (r *Reconciler) steps(ctx context.Context, plan *olm.InstallPlan, p *proposal) ([]*olm.Step, *condition.Problem, error) {
	if p.content == nil {
		var problem *condition.Problem
		var err error
		if p.content, problem, err = r.content(ctx, plan, p); problem != nil || err != nil {
			return nil, problem, err
		}
	}
	tasks, err := tasksOf(p.content, plan.Name, p.scope)
	if err != nil {
		return nil, &condition.Problem{Reason: v1alpha1.ReasonBundleInvalid, Message: err.Error()}, nil
	}
	steps, problem := stepsOf(tasks)
	return steps, problem, nil
}
