package workloads

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/annotations"
	"github.com/operator-status/operator-status/internal/gate"
	"github.com/operator-status/operator-status/internal/installer/controllers"
	"github.com/operator-status/operator-status/internal/probepolicy"
)

// Policies finds the Probes of operators that no ClusterServiceVersion describes, by ProbePolicies.
type Policies struct {
	// Client reads ProbePolicies, CustomResourceDefinitions and Probes from a cache.
	Client client.Reader

	Cache Cache

	// Namespace is that of operator-status, in which updates cannot be held.
	Namespace string
}

// Probes returns the Probes that name an operator. Callers must not change them.
func (p Policies) Probes(ctx context.Context, of holdv1alpha1.OperatorReference) ([]*v1alpha1.Probe, error) {
	list := &v1alpha1.ProbeList{}
	naming := client.MatchingFields{byOperator: of.String()}
	if err := p.Client.List(ctx, list, client.InNamespace(of.Namespace), naming, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the Probes that name %s: %w", of, err)
	}
	out := make([]*v1alpha1.Probe, len(list.Items))
	for i := range list.Items {
		out[i] = &list.Items[i]
	}
	return out, nil
}

// IndexProbes adds the index that Probes reads. Call it once, before the cache of the Client starts or a Probe is read.
func IndexProbes(ctx context.Context, indexer client.FieldIndexer) error {
	err := indexer.IndexField(ctx, &v1alpha1.Probe{}, byOperator, func(o client.Object) []string {
		if named, ok := holdv1alpha1.ProbedOperator(o.(*v1alpha1.Probe)); ok {
			return []string{named.String()}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("indexing Probes by their operator: %w", err)
	}
	return nil
}

// Definitions returns the CustomResourceDefinitions that policies name, and that exist.
func (p Policies) Definitions(ctx context.Context, policies []holdv1alpha1.ProbePolicy) ([]string, error) {
	return annotations.Existing(ctx, p.Client, probepolicy.DefinitionsIn(policies))
}

// Probe returns the Probe that policies determine for an operator, or nil. probes are those that name the operator: one of a user takes
// precedence.
func (p Policies) Probe(ctx context.Context, of holdv1alpha1.OperatorReference, probes []*v1alpha1.Probe) (*v1alpha1.Probe, error) {
	own := probepolicy.Own(of, probes)
	byUser := func(p *v1alpha1.Probe) bool { return p != own }
	if of.Namespace == p.Namespace || slices.Contains(holdv1alpha1.ReservedNamespaces, of.Namespace) || slices.ContainsFunc(probes, byUser) {
		return nil, nil
	}
	policies, err := annotations.Policies(ctx, p.Client)
	if err != nil {
		return nil, err
	}
	definitions, err := p.Definitions(ctx, policies)
	if err != nil || len(definitions) == 0 {
		return nil, err
	}
	in := probepolicy.Inputs{Operator: of, Served: map[types.NamespacedName]controllers.Served{}, Existing: definitions, Policies: policies, Probe: own}
	if in.Parts, err = p.Cache.Parts(ctx, of); err != nil {
		return nil, err
	}
	for _, w := range in.Parts {
		if in.Served[w.Account()], err = p.Cache.Served(ctx, w.Account(), definitions); err != nil {
			return nil, err
		}
	}
	return probepolicy.ForOperator(in), nil
}

// Declared returns the declaration of an operator, by policies.
func (p Policies) Declared(ctx context.Context, of holdv1alpha1.OperatorReference, probes []*v1alpha1.Probe) (gate.Declaration, error) {
	probe, err := p.Probe(ctx, of, probes)
	if err != nil || probe == nil {
		return gate.Declaration{}, err
	}
	return gate.Declaration{
		OptedIn: true, ByPolicy: true, Own: probe.Spec.ProbeResources, Settle: probe.Spec.Settle, YieldAfter: probe.Spec.YieldAfter,
		Namespaces: probe.Spec.Namespaces,
		ProbeName:  types.NamespacedName{Namespace: probe.Namespace, Name: probe.Name},
	}, nil
}
