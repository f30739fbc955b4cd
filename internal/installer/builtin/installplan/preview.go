package installplan

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/builtin/record"
	"github.com/operator-status/operator-status/internal/kube"
	"github.com/operator-status/operator-status/internal/messages"
	"github.com/operator-status/operator-status/internal/preview"
	installplanstatus "github.com/operator-status/operator-status/internal/status/installplan"
)

// mostChanges limits the images, and the rights, that a preview names, and maxChange the length of each: a bundle may have rules of any
// length.
const (
	mostChanges = 10
	maxChange   = 200
)

// preview adds a preview of each update to the resolution, for those who approve the plan. Errors are a part of it.
func (a *attempt) preview(ctx context.Context) {
	run, err := a.r.newRun(a.plan, a.proposal.content, a.proposal.scope)
	for i := range a.resolution.Bundles {
		b := a.proposal.content.Bundle(a.resolution.Bundles[i].Name)
		out := &installplanstatus.Preview{}
		if changes, err := a.changes(ctx, &b); err != nil {
			out.Changes = "The changes of images and rights are not known: " + kube.ErrorMessage(err, maxQuoted)
		} else {
			out.Changes = inWords(changes)
		}
		if err != nil {
			out.Unknown = kube.ErrorMessage(err, maxQuoted)
		} else {
			run.compatible(ctx, &b, out)
		}
		a.resolution.Bundles[i].Preview = out
	}
}

// changes compares a bundle with the version that it replaces.
func (a *attempt) changes(ctx context.Context, b *record.Bundle) (preview.Changes, error) {
	csv, err := csvOf(b, a.plan.Name, a.proposal.scope)
	if err != nil {
		return preview.Changes{}, err
	}
	var before preview.Version
	if b.Replaces != "" {
		replaced := &v1alpha1.ClusterServiceVersion{}
		err := a.r.Reader.Get(ctx, types.NamespacedName{Namespace: a.plan.Namespace, Name: b.Replaces}, replaced)
		if client.IgnoreNotFound(err) != nil {
			return preview.Changes{}, err
		}
		before = preview.OfStrategy(replaced.Spec.InstallStrategy.StrategySpec)
	}
	return preview.Compare(before, preview.OfStrategy(csv.typed.Spec.InstallStrategy.StrategySpec)), nil
}

func inWords(c preview.Changes) string {
	words := func(heading string, changes []string) string {
		if len(changes) == 0 {
			return heading + ": no changes"
		}
		for i := range changes {
			changes[i] = messages.Clip(changes[i], maxChange)
		}
		return heading + ": " + messages.List(changes, mostChanges, "; ")
	}
	return words("Images", c.Images()) + ". " + words("Rights", c.Rights())
}

// compatible sets whether the CustomResourceDefinitions of a bundle keep all custom resources valid, as far as the identity of the plan may
// read these.
func (r *run) compatible(ctx context.Context, b *record.Bundle, out *installplanstatus.Preview) {
	var breaking, unknown []string
	for _, o := range b.Objects {
		if o.GetKind() != kindCRD {
			continue
		}
		why, err := r.checkCRD(ctx, o)
		switch {
		case err != nil:
			unknown = append(unknown, o.GetName()+": "+kube.ErrorMessage(err, maxQuoted))
		case why != "":
			breaking = append(breaking, fmt.Sprintf("CustomResourceDefinition %s: %s", o.GetName(), why))
		}
	}
	out.Breaking, out.Unknown = strings.Join(breaking, "; "), strings.Join(unknown, "; ")
}
