// Package probepolicy reports which operators ProbePolicies apply to.
package probepolicy

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/annotations"
	"github.com/operator-status/operator-status/internal/kube"
	"github.com/operator-status/operator-status/internal/operand"
	"github.com/operator-status/operator-status/internal/optin"
	"github.com/operator-status/operator-status/internal/probepolicy"
	"github.com/operator-status/operator-status/internal/status/condition"
	probestatus "github.com/operator-status/operator-status/internal/status/probe"
	probepolicystatus "github.com/operator-status/operator-status/internal/status/probepolicy"
)

// FieldOwner is the field manager of the statuses.
const FieldOwner = client.FieldOwner("operator-status")

// Reconciler writes the statuses of ProbePolicies.
type Reconciler struct {
	Client client.Client

	// OptIns reads the operators' declarations.
	OptIns *optin.Store

	// Schemas finds terms that no custom resource can satisfy.
	Schemas *operand.Schemas

	// Owners finds the ClusterServiceVersions of operators. Their Probes enqueue the policies.
	Owners *annotations.Owners

	Now func() time.Time
}

// +kubebuilder:rbac:groups=operatorstatus.io,resources=probepolicies,verbs=get;list;watch
// +kubebuilder:rbac:groups=operatorstatus.io,resources=probepolicies/status,verbs=update

// Reconcile writes the status of a policy if it changed.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	policy := &holdv1alpha1.ProbePolicy{}
	if err := r.Client.Get(ctx, request.NamespacedName, policy); err != nil || !policy.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	operators, err := r.operators(ctx, policy)
	if err != nil {
		return reconcile.Result{}, err
	}
	problems, err := r.problems(ctx, policy)
	if err != nil {
		return reconcile.Result{}, err
	}
	status := probepolicystatus.Compute(probepolicystatus.Inputs{Policy: policy, Operators: operators, Problems: problems, Now: metav1.NewTime(r.Now())})
	if equality.Semantic.DeepEqual(status, policy.Status) {
		return reconcile.Result{}, nil
	}
	out := policy.DeepCopy()
	out.Status = status
	return kube.Requeue(reconcile.Result{}, kube.UpdateStatus(ctx, r.Client, out, FieldOwner))
}

// operators reads the operators that serve one of the policy's CustomResourceDefinitions.
func (r *Reconciler) operators(ctx context.Context, policy *holdv1alpha1.ProbePolicy) ([]probepolicystatus.Operator, error) {
	out, err := r.others(ctx)
	if err != nil {
		return nil, err
	}
	seen := map[client.ObjectKey]bool{}
	for _, group := range probepolicy.Groups(probepolicy.DefinitionsIn([]holdv1alpha1.ProbePolicy{*policy})) {
		owners, err := r.Owners.In(ctx, group)
		if err != nil {
			return nil, err
		}
		for _, csv := range owners {
			key := client.ObjectKeyFromObject(csv)
			if seen[key] {
				continue
			}
			seen[key] = true
			one, err := r.operator(ctx, csv, policy)
			if err != nil {
				return nil, err
			}
			out = append(out, one)
		}
	}
	return out, nil
}

// others reads the operators without ClusterServiceVersion: those that have a Probe of operator-status.
func (r *Reconciler) others(ctx context.Context) ([]probepolicystatus.Operator, error) {
	list := &v1alpha1.ProbeList{}
	if err := r.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the Probes: %w", err)
	}
	var out []probepolicystatus.Operator
	for i := range list.Items {
		of, ok := holdv1alpha1.ProbedOperator(&list.Items[i])
		if !ok || probepolicy.Own(of, []*v1alpha1.Probe{&list.Items[i]}) == nil {
			continue
		}
		op := probepolicystatus.Operator{Name: of.Name, Probe: &list.Items[i]}
		op.Installer, op.Namespace = of.Installer, of.Namespace
		op.Definitions, op.Annotated = probepolicy.Named(op.Probe.Spec.ProbeResources), probepolicy.AnnotatedIn(op.Probe)
		out = append(out, op)
	}
	return out, nil
}

func (r *Reconciler) operator(ctx context.Context, csv *v1alpha1.ClusterServiceVersion, policy *holdv1alpha1.ProbePolicy) (
	out probepolicystatus.Operator, err error,
) {
	out.Name = csv.Name
	if out.Probe, err = annotations.Find(ctx, r.Client, client.ObjectKeyFromObject(csv)); err != nil {
		return out, err
	}
	record, err := r.OptIns.Get(ctx, client.ObjectKeyFromObject(csv))
	if err != nil {
		return out, err
	}
	annotated, err := annotations.Annotated(ctx, r.Client, record, csv)
	if err != nil {
		return out, err
	}
	out.Operator, err = annotations.Operator(ctx, r.Client, csv, annotated, []holdv1alpha1.ProbePolicy{*policy})
	return out, err
}

// problems compares the expressions of a policy with the schemas of the CustomResourceDefinitions that exist. The Probes of
// operators report a change of these.
func (r *Reconciler) problems(ctx context.Context, policy *holdv1alpha1.ProbePolicy) (out []condition.Problem, err error) {
	for _, resource := range policy.Spec.ProbeResources {
		crd, absent, err := operand.FindCRD(ctx, r.Client, resource.CRDName())
		if err != nil {
			return nil, err
		}
		if absent != nil {
			continue
		}
		expressions, _ := probestatus.Parse(resource)
		ofResource, err := r.Schemas.Problems(ctx, crd, expressions.Terms())
		if err != nil {
			return nil, fmt.Errorf("reading the schema of %s: %w", crd.Name, err)
		}
		out = append(out, ofResource...)
	}
	return out, nil
}

// SetupWithManager enqueues a policy when it changes, and those for its custom resources when the Probe of an operator does.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("probepolicy").
		For(&holdv1alpha1.ProbePolicy{}).
		Watches(&v1alpha1.Probe{}, handler.EnqueueRequestsFromMapFunc(r.ofProbe)).
		Complete(r)
}

// ofProbe returns requests for the policies that name a resource of a Probe.
func (r *Reconciler) ofProbe(ctx context.Context, o client.Object) []reconcile.Request {
	probe := o.(*v1alpha1.Probe)
	if probe.Spec == nil {
		return nil
	}
	return kube.EnqueueListed(ctx, r.Client, &holdv1alpha1.ProbePolicyList{}, func(policy *holdv1alpha1.ProbePolicy) bool {
		return slices.ContainsFunc(policy.Spec.ProbeResources, func(p v1alpha1.ProbeResource) bool {
			return slices.ContainsFunc(probe.Spec.ProbeResources, func(r v1alpha1.ProbeResource) bool { return r.CRDName() == p.CRDName() })
		})
	})
}
