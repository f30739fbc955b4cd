package upgradehold

import (
	"context"
	"fmt"
	"slices"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"
	utilcache "k8s.io/apimachinery/pkg/util/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/kube"
	"github.com/operator-status/operator-status/internal/operand"
)

// reviewedFor and deniedFor are how long an answer of the API server to a review counts. An operator may get its rights after its Probe.
const (
	reviewedFor = 5 * time.Minute
	deniedFor   = 30 * time.Second
)

// serving finds the CustomResourceDefinitions that an operator serves: those whose custom resources it may report on in all namespaces.
// The author of a Probe may name any, and must not hold those of other operators.
type serving struct {
	client   client.Client
	reviewed *utilcache.Expiring // bool by question
}

// question is whether a service account may report on the custom resources of a CustomResourceDefinition.
type question struct {
	account types.NamespacedName
	crd     string
}

// served returns the names of the CustomResourceDefinitions that Probes name: those that the accounts serve, and the others. Those that are
// held already stay so: an update may change roles first.
func (s serving) served(ctx context.Context, accounts []types.NamespacedName, probes []*v1alpha1.Probe, held []string) (out, others []string, err error) {
	for _, probe := range probes {
		for _, r := range probe.Spec.ProbeResources {
			crd, problem, err := operand.FindCRD(ctx, s.client, r.CRDName())
			if err != nil {
				return nil, nil, err
			}
			if problem != nil || slices.Contains(out, crd.Name) || slices.Contains(others, crd.Name) {
				continue
			}
			serves := slices.Contains(held, crd.Name)
			if !serves {
				if serves, err = s.any(ctx, accounts, crd); err != nil {
					return nil, nil, err
				}
			}
			if serves {
				out = append(out, crd.Name)
			} else {
				others = append(others, crd.Name)
			}
		}
	}
	slices.Sort(out)
	slices.Sort(others)
	return out, others, nil
}

// any reports whether one of the accounts serves a CustomResourceDefinition.
func (s serving) any(ctx context.Context, accounts []types.NamespacedName, crd *apiextensions.CustomResourceDefinition) (bool, error) {
	for _, account := range accounts {
		q := question{account, crd.Name}
		answer, ok := s.reviewed.Get(q)
		if !ok {
			allowed, err := s.review(ctx, account, crd)
			if err != nil {
				return false, err
			}
			counts := deniedFor
			if allowed {
				counts = reviewedFor
			}
			s.reviewed.Set(q, allowed, counts)
			answer = allowed
		}
		if answer.(bool) {
			return true, nil
		}
	}
	return false, nil
}

// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create

// review asks the API server whether an account may report on the custom resources of a CustomResourceDefinition in all namespaces.
func (s serving) review(ctx context.Context, account types.NamespacedName, crd *apiextensions.CustomResourceDefinition) (bool, error) {
	allowed, err := kube.Allowed(ctx, s.client, account, authorizationv1.ResourceAttributes{
		Verb: "update", Group: crd.Spec.Group, Version: operand.ServedVersion(crd), Resource: crd.Spec.Names.Plural, Subresource: reportedIn(crd),
	})
	if err != nil {
		return false, fmt.Errorf("checking whether service account %s serves CustomResourceDefinition %s: %w", account, crd.Name, err)
	}
	return allowed, nil
}

// reportedIn returns the subresource in which an operator reports on custom resources. It is empty if they have none.
func reportedIn(crd *apiextensions.CustomResourceDefinition) string {
	for _, v := range crd.Spec.Versions {
		if v.Name == operand.ServedVersion(crd) && v.Subresources != nil && v.Subresources.Status != nil {
			return "status"
		}
	}
	return ""
}
