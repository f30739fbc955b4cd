package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	policyv1alpha1 "github.com/operator-status/operator-status/api/policy/v1alpha1"
	"github.com/operator-status/operator-status/internal/kube"
	"github.com/operator-status/operator-status/internal/status/condition"
	imagepolicystatus "github.com/operator-status/operator-status/internal/status/imagepolicy"
)

// PolicyReconciler reports which CatalogSources the ImagePolicies apply to.
type PolicyReconciler struct {
	// Catalogs reads the CatalogSources.
	Catalogs *Reconciler

	Now func() time.Time

	// last is when the statuses were last computed.
	last time.Time
}

// pause is the shortest time between two computations, which read all CatalogSources: a tenant may change theirs all the time.
const pause = time.Second

// +kubebuilder:rbac:groups=policy.operatorstatus.io,resources=imagepolicies/status,verbs=update

// Reconcile writes the statuses of all ImagePolicies that changed: which of them applies to an image depends on the others.
func (r *PolicyReconciler) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	if early := pause - r.Now().Sub(r.last); early > 0 {
		return reconcile.Result{RequeueAfter: early}, nil
	}
	r.last = r.Now()
	list := &policyv1alpha1.ImagePolicyList{}
	if err := r.Catalogs.cache.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return reconcile.Result{}, fmt.Errorf("listing the ImagePolicies: %w", err)
	}
	if len(list.Items) == 0 {
		return reconcile.Result{}, nil
	}
	valid, invalid := selectorsOf(list.Items)
	matched, err := r.matched(ctx, valid)
	if err != nil {
		return reconcile.Result{}, err
	}
	var errs []error
	for i := range list.Items {
		p := &list.Items[i]
		status := imagepolicystatus.Compute(imagepolicystatus.Inputs{
			Policy: p, Catalogs: matched[p.Name], Problem: problemOf(p, invalid[p.Name]), Now: metav1.NewTime(r.Now()),
		})
		if equality.Semantic.DeepEqual(status, p.Status) {
			continue
		}
		out := p.DeepCopy()
		out.Status = status
		errs = append(errs, kube.UpdateStatus(ctx, r.Catalogs.cluster, out, client.FieldOwner(FieldOwner)))
	}
	return kube.Requeue(reconcile.Result{}, errors.Join(errs...))
}

// matched returns the CatalogSources to whose images each of the ImagePolicies applies, by its name.
func (r *PolicyReconciler) matched(ctx context.Context, policies []selector) (map[string][]policyv1alpha1.MatchedCatalog, error) {
	catalogs := &olm.CatalogSourceList{}
	if err := r.Catalogs.cache.List(ctx, catalogs, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the CatalogSources: %w", err)
	}
	actual := sync.OnceValues(r.Catalogs.Discovery.ServerVersion) // one request for all CatalogSources
	out := map[string][]policyv1alpha1.MatchedCatalog{}
	for i := range catalogs.Items {
		cs := &catalogs.Items[i]
		kubernetes, _, err := kubernetesOf(cs, actual)
		if err != nil {
			return nil, err
		}
		image := targetOf(cs, kubernetes).image
		if image == "" {
			continue
		}
		those, err := applying(policies, image)
		if err != nil {
			continue // the status of the CatalogSource reports it
		}
		for _, p := range those {
			out[p.Name] = append(out[p.Name], policyv1alpha1.MatchedCatalog{Namespace: cs.Namespace, Name: cs.Name, Image: image})
		}
	}
	return out, nil
}

// problemOf returns the problem of an ImagePolicy that no image can satisfy, or nil. invalid is the Error of its prefixes, or nil.
func problemOf(p *policyv1alpha1.ImagePolicy, invalid error) *condition.Problem {
	if invalid != nil {
		return &condition.Problem{Reason: policyv1alpha1.ReasonPrefixInvalid, Message: invalid.Error()}
	}
	for _, a := range p.Spec.Verification.Cosign.Authorities {
		if _, err := publicKey(a.Key); err != nil {
			return &condition.Problem{Reason: policyv1alpha1.ReasonKeyInvalid, Message: fmt.Sprintf("The key of authority %s: %v", a.Name, err)}
		}
	}
	return nil
}

// SetupWithManager enqueues one request when an ImagePolicy or a CatalogSource changes. around wraps the reconciler to run it only in the right
// mode.
func (r *PolicyReconciler) SetupWithManager(mgr manager.Manager, around func(reconcile.Reconciler) reconcile.Reconciler) error {
	one := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request { return []reconcile.Request{{}} })
	changed := builder.WithPredicates(predicate.Or[client.Object](predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}))
	return ctrl.NewControllerManagedBy(mgr).
		Named("imagepolicy").
		Watches(&policyv1alpha1.ImagePolicy{}, one, changed).
		Watches(&olm.CatalogSource{}, one, changed).
		Complete(around(r))
}
