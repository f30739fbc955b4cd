package probe

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/annotations"
	"github.com/operator-status/operator-status/internal/observed"
	"github.com/operator-status/operator-status/internal/operand"
	"github.com/operator-status/operator-status/internal/status/condition"
	probestatus "github.com/operator-status/operator-status/internal/status/probe"
	"github.com/operator-status/operator-status/internal/watch"
)

// plan holds how to read each resource of a Probe.
type plan []planned

type planned struct {
	probestatus.Resource
	readings []reading
}

func (p plan) wanted() map[reading]probestatus.Expressions {
	out := map[reading]probestatus.Expressions{}
	for _, resource := range p {
		for _, key := range resource.readings {
			out[key] = resource.Expressions
		}
	}
	return out
}

// unread returns a copy of the plan without readings, whose resources all have the Problem.
func (p plan) unread(why condition.Problem) plan {
	out := slices.Clone(p)
	for i := range out {
		out[i].readings = nil
		out[i].Problems = append(slices.Clone(out[i].Problems), why)
	}
	return out
}

// resources returns the resources of the plan with their Snapshots, or why they are not read.
func (p plan) resources(subs map[reading]*watch.Subscription, refused map[reading]error) []probestatus.Resource {
	out := make([]probestatus.Resource, 0, len(p))
	for _, resource := range p {
		for _, key := range resource.readings {
			snapshot := observed.Snapshot{Err: refused[key]}
			if sub, ok := subs[key]; ok {
				snapshot = sub.Snapshot()
			}
			resource.Read = append(resource.Read, probestatus.Read{Namespace: key.target.Namespace, Snapshot: snapshot})
			if problem := operand.ReadProblem(key.target, snapshot); problem != nil {
				resource.Problems = append(resource.Problems, *problem)
			}
		}
		out = append(out, resource.Resource)
	}
	return out
}

// plan decides how to read each resource of a Probe: which kind, in which existing namespaces, with which account.
func (r *StatusReconciler) plan(ctx context.Context, probe *v1alpha1.Probe, owner operand.Owner, namespaces targets) (plan, error) {
	accounts, noIdentity, err := operand.Accounts(ctx, r.Client, probe, owner)
	if err != nil {
		return nil, err
	}
	if probe.IsIsolated() && len(accounts) > 1 {
		if accounts, err = r.oneOf(ctx, probe, accounts, namespaces); err != nil {
			return nil, err
		}
	}
	out := make(plan, 0, len(probe.Spec.ProbeResources))
	for _, spec := range probe.Spec.ProbeResources {
		crd, problem, err := operand.FindCRD(ctx, r.Client, spec.CRDName())
		if err != nil {
			return nil, err
		}
		if problem != nil {
			out = append(out, planned{Resource: probestatus.Resource{CRD: spec.CRDName(), Absent: true, Problems: []condition.Problem{*problem}}})
			continue
		}
		p := planned{Resource: probestatus.Resource{CRD: crd.Name, Kind: crd.Spec.Names.Kind}}
		p.Expressions, p.Problems = probestatus.Parse(spec)
		unsatisfiable, err := r.Schemas.Problems(ctx, crd, p.Terms())
		if err != nil {
			return nil, fmt.Errorf("reading the schema of %s: %w", crd.Name, err)
		}
		p.Problems = append(p.Problems, unsatisfiable...)
		if probe.Spec.Manager == v1alpha1.ManagerCRDAnnotations && spec.Upgradeable == "" {
			p.Invalid = annotations.InvalidUpgradeable(crd) // FromAnnotations left it out of the spec
		}
		if noIdentity != nil {
			p.Problems = append(p.Problems, *noIdentity)
		} else if targets := operand.Targets(crd, namespaces.existing); len(targets) == 0 && len(namespaces.missing) > 0 {
			p.Absent = true
		} else if p.readings, problem, err = r.readingsOf(ctx, probe, spec, accounts, targets, p.Invalid); err != nil {
			return nil, err
		} else if problem != nil {
			p.Problems = append(p.Problems, *problem)
		}
		out = append(out, p)
	}
	return out, nil
}

// readingsOf returns the readings of one resource. If another Probe already reads a target, a SubjectAccessReview
// checks the permission of the account, because an open watch outlives it.
func (r *StatusReconciler) readingsOf(ctx context.Context, probe *v1alpha1.Probe, spec v1alpha1.ProbeResource,
	accounts []types.NamespacedName, targets []watch.Target, invalid bool) ([]reading, *condition.Problem, error) {
	key := client.ObjectKeyFromObject(probe)
	account, err := r.choose(ctx, key, accounts, targets)
	if err != nil {
		return nil, nil, err
	}
	out := make([]reading, 0, len(targets))
	for _, t := range targets {
		t.Identity = account
		out = append(out, reading{t, spec.Upgradeable, spec.Important, invalid})
	}
	if probe.IsIsolated() {
		return out, nil, nil // no other Probe shares its watches
	}
	for _, t := range r.readings.joined(key, out) {
		if allowed, err := r.mayReadAll(ctx, account, []watch.Target{t}); err != nil {
			return nil, nil, err
		} else if !allowed {
			return nil, operand.Forbidden(t), nil
		}
	}
	return out, nil, nil
}

// oneOf returns the account of a Probe with isolation Pod, whose pod has only one: the first that may read all of its
// resources, or that of its pod while this reads them.
func (r *StatusReconciler) oneOf(ctx context.Context, probe *v1alpha1.Probe, accounts []types.NamespacedName,
	namespaces targets) ([]types.NamespacedName, error) {
	if running := r.Pods.account(ctx, probe); slices.Contains(accounts, running) && meta.IsStatusConditionTrue(probe.Status.Conditions, v1alpha1.ConditionSynced) {
		return []types.NamespacedName{running}, nil
	}
	var all []watch.Target
	for _, spec := range probe.Spec.ProbeResources {
		crd, problem, err := operand.FindCRD(ctx, r.Client, spec.CRDName())
		if err != nil {
			return nil, err
		}
		if problem == nil {
			all = append(all, operand.Targets(crd, namespaces.existing)...)
		}
	}
	account, err := r.choose(ctx, client.ObjectKeyFromObject(probe), accounts, all)
	return []types.NamespacedName{account}, err
}
