// Package live reads the custom resources of Probes at the moment of a decision, and judges them as the status of a Probe
// does.
package live

import (
	"context"
	"time"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/observed"
	"github.com/operator-status/operator-status/internal/operand"
	"github.com/operator-status/operator-status/internal/operatorgroup"
	"github.com/operator-status/operator-status/internal/status/condition"
	probestatus "github.com/operator-status/operator-status/internal/status/probe"
	"github.com/operator-status/operator-status/internal/watch"
)

// liveTimeout is how long reading the custom resources of one Probe may take.
const liveTimeout = time.Minute

// Probes reads the custom resources of Probes at the moment of a decision, as their operators. It relies on no cache and no
// watch.
type Probes struct {
	// Reader reads from the API server.
	Reader client.Reader

	// List reads custom resources: see watch.Lister.
	List func(context.Context, watch.Request) (observed.Snapshot, error)

	// HideForeign is true if custom resources outside the namespace of a Probe must not be named.
	HideForeign bool
}

// Status returns the status of a Probe according to its custom resources as they are now. Resources that cannot be read
// are unknown, and the condition Synced has the reason: that is not an error.
func (l Probes) Status(ctx context.Context, probe *v1alpha1.Probe, csv *v1alpha1.ClusterServiceVersion) (*v1alpha1.ProbeStatus, error) {
	accounts, noIdentity, err := operand.Accounts(ctx, l.Reader, probe, operand.OwnerByCSV(probe, csv))
	if err != nil {
		return nil, err
	}
	return l.status(ctx, probe, csv, accounts, noIdentity)
}

// StatusAs is Status for an operator that was uninstalled, and its service accounts with it. The zero account does not
// impersonate.
func (l Probes) StatusAs(ctx context.Context, probe *v1alpha1.Probe, csv *v1alpha1.ClusterServiceVersion, account types.NamespacedName) (*v1alpha1.ProbeStatus,
	error) {
	return l.status(ctx, probe, csv, []types.NamespacedName{account}, nil)
}

func (l Probes) status(ctx context.Context, probe *v1alpha1.Probe, csv *v1alpha1.ClusterServiceVersion,
	accounts []types.NamespacedName, noIdentity *condition.Problem) (*v1alpha1.ProbeStatus, error) {
	ctx, cancel := context.WithTimeout(ctx, liveTimeout)
	defer cancel()
	namespaces, err := l.namespaces(ctx, csv)
	if err != nil {
		return nil, err
	}
	in := probestatus.Inputs{Probe: probe.DeepCopy(), HideForeign: l.HideForeign, Now: metav1.Now()}
	since := v1alpha1.ProbeStatus{BlockedSince: probe.Status.BlockedSince, ObservedVersion: probe.Status.ObservedVersion}
	in.Probe.Status, in.Version = since, since.ObservedVersion
	in.Probe.Spec.Settle = nil // the Probe alone holds because of it
	for _, spec := range probe.Spec.ProbeResources {
		crd, problem, err := operand.FindCRD(ctx, l.Reader, spec.CRDName())
		if err != nil {
			return nil, err
		}
		resource := probestatus.Resource{CRD: spec.CRDName(), Absent: crd == nil}
		switch {
		case problem != nil:
			resource.Problems = []condition.Problem{*problem}
		case noIdentity != nil:
			resource.Problems = []condition.Problem{*noIdentity}
		default:
			resource = l.resource(ctx, spec, crd, namespaces, accounts)
		}
		in.Resources = append(in.Resources, resource)
	}
	return new(probestatus.ComputeRead(in)), nil
}

// namespaces returns the target namespaces of a ClusterServiceVersion.
func (l Probes) namespaces(ctx context.Context, csv *v1alpha1.ClusterServiceVersion) ([]string, error) {
	group, problem, err := operatorgroup.Find(ctx, l.Reader, csv.Namespace)
	switch {
	case err != nil:
		return nil, err
	case problem != nil:
		return operand.AnnotatedNamespaces(csv), nil
	}
	return operatorgroup.Targets(ctx, l.Reader, group)
}

// resource reads the custom resources of one CustomResourceDefinition.
func (l Probes) resource(ctx context.Context, spec v1alpha1.ProbeResource, crd *apiextensions.CustomResourceDefinition,
	namespaces []string, accounts []types.NamespacedName) probestatus.Resource {
	out := probestatus.Resource{CRD: crd.Name, Kind: crd.Spec.Names.Kind}
	out.Expressions, out.Problems = probestatus.Parse(spec)
	for _, target := range operand.Targets(crd, namespaces) {
		snapshot, problem := l.list(ctx, out.Expressions, target, accounts)
		if problem != nil {
			out.Problems = append(out.Problems, *problem)
		}
		out.Read = append(out.Read, probestatus.Read{Namespace: target.Namespace, Snapshot: snapshot})
	}
	return out
}

// list reads a target as the first of the accounts that may.
func (l Probes) list(ctx context.Context, e probestatus.Expressions, target watch.Target,
	accounts []types.NamespacedName) (out observed.Snapshot, problem *condition.Problem) {
	for _, account := range accounts {
		target.Identity = account
		out, out.Err = l.List(ctx, watch.Request{
			Target: target, Terms: e.Terms(), Judge: e.Judge, Explain: e.Explain, Listed: v1alpha1.MaxStatusProbeResources,
		})
		if problem = operand.ReadProblem(target, out); !apierrors.IsForbidden(out.Err) {
			break
		}
	}
	return out, problem
}
