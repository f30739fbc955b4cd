package probe

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/annotations"
	"github.com/operator-status/operator-status/internal/csvchain"
	"github.com/operator-status/operator-status/internal/optin"
	"github.com/operator-status/operator-status/internal/probepolicy"
)

// SpecReconciler keeps the Probe of each ClusterServiceVersion equal to the annotations of the CustomResourceDefinitions
// that it owns, as they were when it was installed, and to the ProbePolicies for those without annotations that it serves. It never changes
// or deletes a Probe whose spec a user or the operator wrote.
type SpecReconciler struct {
	Client client.Client

	// OptIns stores the operators' declarations.
	OptIns *optin.Store

	// Changes is the cache that OptIns reads from.
	Changes cache.Cache

	// Owners finds the ClusterServiceVersions to enqueue.
	Owners *annotations.Owners
}

// +kubebuilder:rbac:groups=operators.coreos.com,resources=probes,verbs=create;update;delete

// Reconcile creates, updates or deletes the Probe of one ClusterServiceVersion.
func (r *SpecReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	csv, err := csvOf(ctx, r.Client, request.NamespacedName)
	if err != nil {
		return reconcile.Result{}, err
	}
	actual, err := annotations.Find(ctx, r.Client, request.NamespacedName)
	if err != nil {
		return reconcile.Result{}, err
	}
	if csv == nil {
		return reconcile.Result{}, errors.Join(r.forget(ctx, request.NamespacedName, actual), r.remove(ctx, actual))
	}
	var others []v1alpha1.ClusterServiceVersion
	if actual != nil || csvchain.Ran(csv) { // a namespace may have thousands, which never ran
		if others, err = siblings(ctx, r.Client, csv.Namespace); err != nil {
			return reconcile.Result{}, err
		}
	}
	beingReplaced := actual != nil && csvchain.BeingReplaced(csv, others)
	if beingReplaced && actual.Spec != nil && actual.Spec.Manager != v1alpha1.ManagerPolicy {
		return reconcile.Result{}, nil // the annotations may be those of the next version; a Probe that was deleted is created again
	}
	var declared []v1alpha1.ProbeResource
	if !beingReplaced {
		if declared, err = r.declared(ctx, csv); err != nil {
			return reconcile.Result{}, err
		}
	}
	policies, err := annotations.Policies(ctx, r.Client)
	if err != nil {
		return reconcile.Result{}, err
	}
	declaration, err := annotations.Declare(ctx, r.Client, csv, declared, policies)
	if err != nil {
		return reconcile.Result{}, err
	}
	desired := annotations.DeclaredProbe(csv, declaration)
	if desired != nil {
		if desired.Spec.Isolation, err = r.isolation(ctx, csv, actual); err != nil {
			return reconcile.Result{}, err
		}
	}
	if err := r.apply(ctx, actual, desired); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{}, r.forgetFormer(ctx, csv, others)
}

// declared returns an operator's declaration. Once the operator has run, its declaration is recorded, and no longer
// follows its CustomResourceDefinitions. An InstallPlan of the built-in loops records it at once.
func (r *SpecReconciler) declared(ctx context.Context, csv *v1alpha1.ClusterServiceVersion) ([]v1alpha1.ProbeResource, error) {
	record, err := r.OptIns.Get(ctx, client.ObjectKeyFromObject(csv))
	if err != nil {
		return nil, err
	}
	if record != nil {
		return record.Resources, nil
	}
	crds, err := annotations.CRDs(ctx, r.Client, csv)
	if err != nil {
		return nil, err
	}
	now, problems := annotations.Probe(csv, crds)
	var out []v1alpha1.ProbeResource
	if now != nil {
		out = now.Spec.ProbeResources
	}
	if !csvchain.Ran(csv) || len(problems) > 0 || len(crds) < len(annotations.CRDNames(csv)) {
		return out, nil
	}
	if len(out) == 0 {
		return nil, nil // it may still be annotated by an admin
	}
	return out, r.OptIns.Put(ctx, optin.New(csv, out))
}

// forget deletes the record of an operator that no longer exists, if another version has replaced it or it left no
// custom resources. Otherwise the record remains: installing another version beside those is an update.
func (r *SpecReconciler) forget(ctx context.Context, of types.NamespacedName, probe *v1alpha1.Probe) error {
	record, err := r.OptIns.Get(ctx, of)
	if err != nil || record == nil {
		return err
	}
	others, err := siblings(ctx, r.Client, of.Namespace)
	if err != nil {
		return err
	}
	replaced := slices.ContainsFunc(others, func(csv v1alpha1.ClusterServiceVersion) bool {
		return csvchain.Ran(&csv) && record.Shares(optin.Owned(&csv))
	})
	leftNothing := probe != nil && probe.Status.Summary != nil && probe.Status.Summary.Total == 0
	if !replaced && !leftNothing {
		return nil
	}
	return r.OptIns.Delete(ctx, of)
}

// forgetFormer deletes the records of operators that a running one has replaced.
func (r *SpecReconciler) forgetFormer(ctx context.Context, csv *v1alpha1.ClusterServiceVersion, others []v1alpha1.ClusterServiceVersion) error {
	if !csvchain.Ran(csv) {
		return nil
	}
	records, err := r.OptIns.In(ctx, csv.Namespace)
	if err != nil {
		return err
	}
	for _, record := range records {
		exists := slices.ContainsFunc(others, func(other v1alpha1.ClusterServiceVersion) bool { return other.Name == record.Of.Name })
		if exists || !record.Shares(optin.Owned(csv)) {
			continue
		}
		if err := r.OptIns.Delete(ctx, record.Of); err != nil {
			return err
		}
	}
	return nil
}

// isolation returns the isolation of a Probe, the only field of its spec that is not from annotations: a user sets it, and
// an update of the operator keeps it.
func (r *SpecReconciler) isolation(ctx context.Context, csv *v1alpha1.ClusterServiceVersion, actual *v1alpha1.Probe) (v1alpha1.ProbeIsolation, error) {
	if actual != nil && actual.Spec != nil && actual.Spec.Isolation != "" {
		return actual.Spec.Isolation, nil
	}
	if csv.Spec.Replaces == "" {
		return "", nil
	}
	replaced, err := annotations.Find(ctx, r.Client, types.NamespacedName{Namespace: csv.Namespace, Name: csv.Spec.Replaces})
	if err != nil || replaced == nil || replaced.Spec == nil {
		return "", err
	}
	return replaced.Spec.Isolation, nil
}

// apply makes the actual Probe the desired one. Either may be nil.
func (r *SpecReconciler) apply(ctx context.Context, actual, desired *v1alpha1.Probe) error {
	if desired == nil {
		return r.remove(ctx, actual)
	}
	return apply(ctx, r.Client, actual, desired)
}

// remove deletes a Probe that was made from annotations or policies.
func (r *SpecReconciler) remove(ctx context.Context, actual *v1alpha1.Probe) error {
	if actual == nil || !annotations.OwnedByCSV(actual) {
		return nil
	}
	return remove(ctx, r.Client, actual)
}

// apply makes the actual Probe, which may be nil, the desired one, unless a user wrote its spec.
func apply(ctx context.Context, c client.Client, actual, desired *v1alpha1.Probe) error {
	switch {
	case actual == nil:
		return done(ctx, "creating", desired, c.Create(ctx, desired, client.FieldOwner(FieldOwner)))
	case !actual.IsGenerated():
		return nil
	}
	out := actual.DeepCopy()
	out.Spec = desired.Spec
	out.OwnerReferences = desired.OwnerReferences
	setAnnotatedCRDs(out, desired.Annotations[v1alpha1.AnnotationAnnotatedCRDs])
	if equality.Semantic.DeepEqual(out, actual) {
		return nil
	}
	return done(ctx, "updating", out, c.Update(ctx, out, client.FieldOwner(FieldOwner)))
}

func setAnnotatedCRDs(probe *v1alpha1.Probe, names string) {
	if names == "" {
		delete(probe.Annotations, v1alpha1.AnnotationAnnotatedCRDs)
		return
	}
	metav1.SetMetaDataAnnotation(&probe.ObjectMeta, v1alpha1.AnnotationAnnotatedCRDs, names)
}

// remove deletes a Probe, unless a user wrote its spec.
func remove(ctx context.Context, c client.Client, actual *v1alpha1.Probe) error {
	if actual == nil || !actual.IsGenerated() {
		return nil
	}
	asSeen := client.Preconditions{UID: &actual.UID, ResourceVersion: &actual.ResourceVersion}
	return done(ctx, "deleting", actual, c.Delete(ctx, actual, asSeen))
}

// done logs a change of a Probe. It ignores errors that only mean that the cache is stale: its next event enqueues
// the Probe again.
func done(ctx context.Context, action string, probe *v1alpha1.Probe, err error) error {
	switch {
	case err == nil:
		log.FromContext(ctx).Info("Updated Probe from CRD annotations and ProbePolicies", "by", action, "probe", client.ObjectKeyFromObject(probe))
		return nil
	case apierrors.IsConflict(err), apierrors.IsNotFound(err), apierrors.IsAlreadyExists(err):
		return nil
	}
	return fmt.Errorf("%s Probe %s to match the CRD annotations and ProbePolicies: %w", action, client.ObjectKeyFromObject(probe), err)
}

// SetupWithManager enqueues a ClusterServiceVersion when it, its successor, a CustomResourceDefinition of an API group in which it owns one, a
// ProbePolicy for such a one, its Probe, or the record of its declaration changes.
func (r *SpecReconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("probe-spec").
		For(&v1alpha1.ClusterServiceVersion{}).
		Watches(&v1alpha1.ClusterServiceVersion{}, handler.EnqueueRequestsFromMapFunc(replacedBy)).
		Watches(&apiextensions.CustomResourceDefinition{}, handler.EnqueueRequestsFromMapFunc(r.inGroup)).
		Watches(&holdv1alpha1.ProbePolicy{}, handler.EnqueueRequestsFromMapFunc(r.named)).
		Watches(&v1alpha1.Probe{}, &handler.EnqueueRequestForObject{}).
		WatchesRawSource(source.Kind[client.Object](r.Changes, &corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(recorded))).
		Complete(r)
}

// recorded returns a request for the ClusterServiceVersion that a ConfigMap has the record of.
func recorded(_ context.Context, o client.Object) []reconcile.Request {
	if of, ok := optin.OfConfigMap(o); ok {
		return []reconcile.Request{{NamespacedName: of}}
	}
	return nil
}

func replacedBy(_ context.Context, o client.Object) []reconcile.Request {
	csv, ok := o.(*v1alpha1.ClusterServiceVersion)
	if !ok || csv.Spec.Replaces == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: csv.Namespace, Name: csv.Spec.Replaces}}}
}

func (r *SpecReconciler) inGroup(ctx context.Context, crd client.Object) []reconcile.Request {
	return r.owningIn(ctx, probepolicy.GroupOf(crd.GetName()))
}

// owningIn returns requests for the ClusterServiceVersions that own a CustomResourceDefinition of an API group.
func (r *SpecReconciler) owningIn(ctx context.Context, group string) []reconcile.Request {
	owners, err := r.Owners.In(ctx, group)
	if err != nil {
		log.FromContext(ctx).Error(err, "Failed to list the ClusterServiceVersions to enqueue") // one of the cache, which only a shutdown causes
		return nil
	}
	out := make([]reconcile.Request, 0, len(owners))
	for _, csv := range owners {
		out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(csv)})
	}
	return out
}

// named returns requests for the operators that may serve a CustomResourceDefinition which a policy names.
func (r *SpecReconciler) named(ctx context.Context, policy client.Object) []reconcile.Request {
	var out []reconcile.Request
	for _, group := range probepolicy.Groups(probepolicy.DefinitionsIn([]holdv1alpha1.ProbePolicy{*policy.(*holdv1alpha1.ProbePolicy)})) {
		out = append(out, r.owningIn(ctx, group)...)
	}
	return out
}
