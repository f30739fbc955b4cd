package workloads

import (
	"context"
	"fmt"
	"slices"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/annotations"
	"github.com/operator-status/operator-status/internal/gate"
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
	if err := p.Client.List(ctx, list, client.InNamespace(of.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the Probes of namespace %s: %w", of.Namespace, err)
	}
	var out []*v1alpha1.Probe
	for i := range list.Items {
		if named, ok := holdv1alpha1.ProbedOperator(&list.Items[i]); ok && named == of {
			out = append(out, &list.Items[i])
		}
	}
	return out, nil
}

// Definitions returns the CustomResourceDefinitions that policies name, and that exist.
func (p Policies) Definitions(ctx context.Context, policies []holdv1alpha1.ProbePolicy) ([]string, error) {
	named := probepolicy.DefinitionsIn(policies)
	if len(named) == 0 {
		return nil, nil
	}
	list := &apiextensions.CustomResourceDefinitionList{}
	if err := p.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the CustomResourceDefinitions: %w", err)
	}
	return slices.DeleteFunc(named, func(name string) bool {
		return !slices.ContainsFunc(list.Items, func(crd apiextensions.CustomResourceDefinition) bool { return crd.Name == name })
	}), nil
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
	in := probepolicy.Inputs{Operator: of, Existing: definitions, Policies: policies, Probe: own}
	if in.Workloads, err = p.Cache.In(ctx, of.Namespace); err != nil {
		return nil, err
	}
	if in.Controllers, err = p.Cache.Controllers(ctx, of.Namespace, definitions); err != nil {
		return nil, err
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
		OptedIn: true, ByPolicy: true, Own: probe.Spec.ProbeResources, Settle: probe.Spec.Settle, Namespaces: probe.Spec.Namespaces,
		ProbeName: types.NamespacedName{Namespace: probe.Namespace, Name: probe.Name},
	}, nil
}
