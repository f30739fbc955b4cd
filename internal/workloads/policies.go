package workloads

import (
	"context"
	"fmt"
	"slices"
	"time"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/annotations"
	"github.com/operator-status/operator-status/internal/gate"
	"github.com/operator-status/operator-status/internal/installer/controllers"
	"github.com/operator-status/operator-status/internal/operator"
	"github.com/operator-status/operator-status/internal/probepolicy"
)

// Policies finds the Probes of operators that no ClusterServiceVersion describes, by annotations and ProbePolicies.
type Policies struct {
	// Client reads ProbePolicies, CustomResourceDefinitions and Probes from a cache.
	Client client.Reader

	Cache Cache

	// Owners finds the ClusterServiceVersions that own CustomResourceDefinitions.
	Owners *annotations.Owners

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

// Declarations are the ProbePolicies, and the annotations of CustomResourceDefinitions that no ClusterServiceVersion owns.
type Declarations struct {
	policies    []holdv1alpha1.ProbePolicy
	definitions []apiextensions.CustomResourceDefinition  // all
	unowned     []*apiextensions.CustomResourceDefinition // annotated
	known       bool                                      // whether it is known already which are unowned
}

// Concern reports whether some operator without ClusterServiceVersion may exist that they are about.
func (d Declarations) Concern(now time.Time) bool {
	return len(annotations.Among(d.definitions, probepolicy.DefinitionsIn(d.policies))) > 0 ||
		slices.ContainsFunc(d.unowned, func(crd *apiextensions.CustomResourceDefinition) bool { return !annotations.AwaitsOwner(crd, now) })
}

// inputs returns those for the Probe of an operator, which has own, or nil.
func (d Declarations) inputs(of holdv1alpha1.OperatorReference, own *v1alpha1.Probe) probepolicy.Inputs {
	out := probepolicy.Inputs{Operator: of, Served: map[operator.Ref]controllers.Served{}, Policies: d.policies, Probe: own}
	names := probepolicy.DefinitionsIn(d.policies)
	out.Annotated, _ = annotations.Resources(d.unowned)
	if own != nil {
		names = append(names, probepolicy.Named(own.Spec.ProbeResources)...)
		if !d.known {
			out.Annotated = probepolicy.AnnotatedIn(own)
		}
	}
	names = append(names, probepolicy.Named(out.Annotated)...)
	slices.Sort(names)
	out.Existing = annotations.Among(d.definitions, slices.Compact(names))
	return out
}

// Declarations reads the declarations of all operators.
func (p Policies) Declarations(ctx context.Context) (out Declarations, err error) {
	if out.policies, err = annotations.Policies(ctx, p.Client); err != nil {
		return out, err
	}
	if out.definitions, err = annotations.All(ctx, p.Client); err != nil {
		return out, err
	}
	out.unowned, out.known, err = p.Owners.Unowned(ctx, out.definitions)
	return out, err
}

// Probe returns the Probe that annotations and policies determine for an operator, or nil. probes are those that name the operator: one of
// a user takes precedence.
func (p Policies) Probe(ctx context.Context, of holdv1alpha1.OperatorReference, probes []*v1alpha1.Probe) (*v1alpha1.Probe, error) {
	own := probepolicy.Own(of, probes)
	byUser := func(p *v1alpha1.Probe) bool { return p != own }
	if of.Namespace == p.Namespace || slices.Contains(holdv1alpha1.ReservedNamespaces, of.Namespace) || slices.ContainsFunc(probes, byUser) {
		return nil, nil
	}
	declared, err := p.Declarations(ctx)
	if err != nil {
		return nil, err
	}
	in := declared.inputs(of, own)
	if len(in.Existing) == 0 {
		return nil, nil
	}
	if in.Parts, err = p.Cache.Parts(ctx, of); err != nil {
		return nil, err
	}
	existing := NewDefinitions(declared.definitions, in.Existing)
	for _, w := range in.Parts {
		if in.Served[w.Ref], err = p.Cache.Served(ctx, w, existing); err != nil {
			return nil, err
		}
	}
	return probepolicy.ForOperator(in), nil
}

// Declared returns the declaration of an operator, by annotations and policies.
func (p Policies) Declared(ctx context.Context, of holdv1alpha1.OperatorReference, probes []*v1alpha1.Probe) (gate.Declaration, error) {
	probe, err := p.Probe(ctx, of, probes)
	if err != nil || probe == nil {
		return gate.Declaration{}, err
	}
	return gate.Declaration{
		OptedIn: true, ByPolicy: probe.Spec.Manager == v1alpha1.ManagerPolicy, Own: probe.Spec.ProbeResources,
		Settle: probe.Spec.Settle, YieldAfter: probe.Spec.YieldAfter, Namespaces: probe.Spec.Namespaces,
		ProbeName: types.NamespacedName{Namespace: probe.Namespace, Name: probe.Name},
	}, nil
}
