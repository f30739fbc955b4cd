// Package upgradehold keeps the UpgradeHolds of operators that no ClusterServiceVersion describes: those that a Probe names, or an
// UpgradeHold of a user, and those that set their OperatorCondition.
package upgradehold

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilcache "k8s.io/apimachinery/pkg/util/cache"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/gate"
	"github.com/operator-status/operator-status/internal/installer"
	"github.com/operator-status/operator-status/internal/kube"
	"github.com/operator-status/operator-status/internal/probepolicy"
	"github.com/operator-status/operator-status/internal/upgradehold"
	"github.com/operator-status/operator-status/internal/workloads"
)

// Reconciler keeps the UpgradeHolds of operators. A request is for an operator.
type Reconciler struct {
	// Client reads from the cache.
	Client client.Client

	// Live bypasses it.
	Live client.Reader

	// Operators finds an operator that is not OLM's, or returns nil if no version of it has run.
	Operators func(context.Context, holdv1alpha1.OperatorReference) (*installer.Installed, error)

	// Changes is the cache that Operators reads from. The operators of an object of the Kinds there are those that it may be a part
	// of.
	Changes cache.Cache
	Kinds   []client.Object
	Parts   workloads.Mapping

	Holds *upgradehold.Writer

	// Policies finds the Probe that ProbePolicies determine for an operator.
	Policies workloads.Policies

	// Index has the ConfigMaps of the index of UpgradeHolds.
	Index cache.Cache

	serving serving

	// attempts has the attempt of each operator that was named, by holdv1alpha1.OperatorReference.
	attempts sync.Map

	controller controller.TypedController[holdv1alpha1.OperatorReference]

	// reconsidered has the operators to enqueue for Reconsider.
	reconsidered chan event.TypedGenericEvent[holdv1alpha1.OperatorReference]

	// watchChanges starts to watch Changes, once an operator is named.
	watchChanges func() error
}

// +kubebuilder:rbac:groups=apps,resources=deployments;statefulsets;daemonsets,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=list;watch
// +kubebuilder:rbac:groups=operatorstatus.io,resources=upgradeholds,verbs=get;list;watch
// +kubebuilder:rbac:groups=operators.coreos.com,resources=probes,verbs=get;list;watch

// Reconcile writes the UpgradeHolds of an operator.
func (r *Reconciler) Reconcile(ctx context.Context, of holdv1alpha1.OperatorReference) (reconcile.Result, error) {
	if of == unknown {
		return reconcile.Result{}, r.watchChanges()
	}
	op := upgradehold.Operator{OperatorReference: of}
	var installed *installer.Installed
	probes, err := r.Policies.Probes(ctx, of)
	if err != nil {
		return reconcile.Result{}, err
	}
	declared, err := r.Policies.Declared(ctx, of, probes)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("reading the ProbePolicies for %s: %w", of, err)
	}
	holds := &holdv1alpha1.UpgradeHoldList{}
	if err := r.Client.List(ctx, holds, client.UnsafeDisableDeepCopy); err != nil {
		return reconcile.Result{}, fmt.Errorf("listing the UpgradeHolds: %w", err)
	}
	byUsers := gate.ByUsers(holds.Items, of, time.Now())
	conditions, err := r.conditions(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	before, known := r.attempt(of)
	named := len(probes) > 0 || declared.OptedIn || len(byUsers) > 0 || known && !before.settled || !known && isNamed(holds.Items, of)
	if (named || len(conditions) > 0) && !slices.Contains(holdv1alpha1.ReservedNamespaces, of.Namespace) {
		if err := r.watchChanges(); err != nil {
			return reconcile.Result{}, fmt.Errorf("watching workloads: %w", err)
		}
		if installed, err = r.Operators(ctx, of); err != nil {
			return reconcile.Result{}, fmt.Errorf("reading %s: %w", of, err)
		}
	}
	if conditions = writtenBy(installed, conditions); !named && len(conditions) == 0 {
		installed = nil
	}
	if installed != nil {
		if op, err = r.describe(ctx, op, installed, asked{probes, declared, byUsers, conditions, deniedBy(holds.Items, of)}); err != nil {
			return reconcile.Result{}, err
		}
	}
	result, err := r.Holds.Write(ctx, op)
	if err == nil && len(op.Holds) > 0 {
		r.attempts.Store(of, attempt{held: true})
	} else if err == nil && installed != nil && installed.Retry != nil {
		retried, err := r.retry(ctx, of, installed.Retry)
		if err != nil {
			return retried, err
		}
		result.RequeueAfter = kube.Sooner(result.RequeueAfter, retried.RequeueAfter)
	}
	if err == nil && len(op.NotHeld) > 0 {
		result.RequeueAfter = kube.Sooner(result.RequeueAfter, deniedFor) // rights may have been given since
	}
	return kube.Requeue(result, err)
}

// isNamed reports whether an UpgradeHold is about an operator. It may have ended while this process did not run.
func isNamed(holds []holdv1alpha1.UpgradeHold, of holdv1alpha1.OperatorReference) bool {
	return slices.ContainsFunc(holds, func(h holdv1alpha1.UpgradeHold) bool { return h.Spec.Operator == of })
}

// deniedBy returns the names of the CustomResourceDefinitions that UpgradeHolds of an operator deny.
func deniedBy(holds []holdv1alpha1.UpgradeHold, of holdv1alpha1.OperatorReference) []string {
	var out []string
	for i := range holds {
		if h := &holds[i]; h.Spec.Operator == of && h.Status.Denied != nil {
			out = append(out, h.Status.Denied.CustomResourceDefinitions...)
		}
	}
	return out
}

// asked is who has to allow an update of an operator.
type asked struct {
	probes   []*v1alpha1.Probe
	declared gate.Declaration // by ProbePolicies
	byUsers  []gate.UserHold

	conditions []*operatorsv2.OperatorCondition // by itself

	denied []string // names of the CustomResourceDefinitions that are held already
}

// describe adds the gate's decision about an operator. All of its Probes have to allow an update.
func (r *Reconciler) describe(ctx context.Context, op upgradehold.Operator, installed *installer.Installed, by asked) (upgradehold.Operator, error) {
	op.Request, op.Installed, op.Unrecorded = objectOf(installed), true, installed.Unrecorded
	op.Allowed = installed.Request.Annotations[v1alpha1.AnnotationAllowUpgrade]
	in := gate.Inputs{Request: &installed.Request, Running: &installed.Running, Target: gate.AnyVersion, UpgradeHolds: by.byUsers}
	op.Holds = gate.Evaluate(in).Holds
	in.UpgradeHolds = nil
	for _, in.OperatorCondition = range by.conditions {
		op.Holds = append(op.Holds, gate.Evaluate(in).Holds...)
	}
	in.OperatorCondition = nil
	own := probepolicy.Own(op.OperatorReference, by.probes)
	for _, probe := range by.probes {
		in.Probe = probe
		if in.Declaration = (gate.Declaration{}); probe == own {
			in.Declaration = by.declared
		}
		op.Holds = append(op.Holds, gate.Evaluate(in.AsReported()).Holds...)
	}
	if own == nil && by.declared.OptedIn {
		in.Probe, in.Declaration = nil, by.declared
		op.Holds = append(op.Holds, gate.Evaluate(in).Holds...)
	}
	var crds []string
	if len(op.Holds) > 0 && op.Installer != holdv1alpha1.InstallerOLMv1 {
		var err error
		if crds, op.NotHeld, err = r.serving.served(ctx, accountsOf(op, installed), by.probes, by.denied); err != nil {
			return op, err
		}
	}
	op.Denied = func(allowed string) *holdv1alpha1.DeniedUpdates { return installed.Denied(allowed, crds) }
	return op, nil
}

func accountsOf(op upgradehold.Operator, installed *installer.Installed) []types.NamespacedName {
	out := make([]types.NamespacedName, 0, len(installed.Accounts))
	for _, name := range installed.Accounts {
		out = append(out, types.NamespacedName{Namespace: op.Namespace, Name: name})
	}
	return out
}

// objectOf returns the object that Events about an operator are on.
func objectOf(installed *installer.Installed) client.Object {
	ref, out := installed.Request.Ref, &metav1.PartialObjectMetadata{}
	groups := map[string]string{"Secret": "", "ClusterExtension": "olm.operatorframework.io"}
	group, ok := groups[ref.Kind]
	if !ok {
		group = "apps"
	}
	out.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: "v1", Kind: ref.Kind})
	out.Namespace, out.Name = ref.Namespace, ref.Name
	return out
}

// Reconsider enqueues an operator. Call it when annotations or ProbePolicies may determine something else for the operator now, also if its
// Probe does not change: they may have done so for a moment, in which the operator was reconciled.
func (r *Reconciler) Reconsider(ctx context.Context, of holdv1alpha1.OperatorReference) {
	select {
	case r.reconsidered <- event.TypedGenericEvent[holdv1alpha1.OperatorReference]{Object: of}:
	case <-ctx.Done():
	}
}

// SetupWithManager enqueues an operator when a Probe or UpgradeHold that names it, or a part of it, changes, all when the policies
// do, and when the index does those that it did not have.
func (r *Reconciler) SetupWithManager(mgr manager.Manager) error {
	r.reconsidered = make(chan event.TypedGenericEvent[holdv1alpha1.OperatorReference])
	reconsider := handler.TypedEnqueueRequestsFromMapFunc(func(_ context.Context, of holdv1alpha1.OperatorReference) []holdv1alpha1.OperatorReference {
		return []holdv1alpha1.OperatorReference{of}
	})
	c, err := builder.TypedControllerManagedBy[holdv1alpha1.OperatorReference](mgr).
		Named("upgradehold").
		Watches(&v1alpha1.Probe{}, workloads.Enqueue(workloads.OfProbe)).
		Watches(&holdv1alpha1.UpgradeHold{}, workloads.Enqueue(func(_ context.Context, o client.Object) []holdv1alpha1.OperatorReference { return ofHold(o) })).
		Watches(&admissionregistrationv1.ValidatingAdmissionPolicy{}, workloads.Enqueue(r.all)).
		Watches(&admissionregistrationv1.ValidatingAdmissionPolicyBinding{}, workloads.Enqueue(r.all)).
		WatchesRawSource(source.TypedKind[client.Object](r.Index, &corev1.ConfigMap{}, workloads.Enqueue(r.unindexed))).
		WatchesRawSource(source.TypedChannel(r.reconsidered, reconsider)).
		Build(r)
	if err != nil {
		return err
	}
	r.serving = serving{r.Client, utilcache.NewExpiring()}
	r.controller = c
	r.watchChanges = sync.OnceValue(func() error {
		for _, kind := range r.Kinds {
			if err := c.Watch(source.TypedKind(r.Changes, kind, workloads.Enqueue(r.Parts))); err != nil {
				return err
			}
		}
		return nil
	})
	return nil
}

// WatchNamed enqueues the operators of an installer when an object of their name changes.
func (r *Reconciler) WatchNamed(kind client.Object, installer holdv1alpha1.Installer) error {
	named := workloads.Enqueue(func(ctx context.Context, o client.Object) []holdv1alpha1.OperatorReference {
		return slices.DeleteFunc(r.all(ctx, o), func(of holdv1alpha1.OperatorReference) bool {
			return of.Installer != installer || of.Name != o.GetName()
		})
	})
	return r.controller.Watch(source.TypedKind(r.Changes, kind, named))
}

func ofHold(o client.Object) []holdv1alpha1.OperatorReference {
	if of := o.(*holdv1alpha1.UpgradeHold).Spec.Operator; of.Installer != holdv1alpha1.InstallerOLM {
		return []holdv1alpha1.OperatorReference{of}
	}
	return nil
}

// unindexed returns the operators of the UpgradeHolds that the index did not have.
func (r *Reconciler) unindexed(ctx context.Context, _ client.Object) []holdv1alpha1.OperatorReference {
	holds := &holdv1alpha1.UpgradeHoldList{}
	if err := r.Client.List(ctx, holds, client.UnsafeDisableDeepCopy); err != nil {
		log.FromContext(ctx).Error(err, "Failed to list the operators to enqueue")
		return nil
	}
	var out []holdv1alpha1.OperatorReference
	for i := range holds.Items {
		c := meta.FindStatusCondition(holds.Items[i].Status.Conditions, holdv1alpha1.ConditionEnforced)
		if c != nil && c.Reason == holdv1alpha1.ReasonNotIndexed {
			out = append(out, ofHold(&holds.Items[i])...)
		}
	}
	return out
}

// all returns the operators that a Probe or UpgradeHold names.
func (r *Reconciler) all(ctx context.Context, _ client.Object) []holdv1alpha1.OperatorReference {
	probes, holds := &v1alpha1.ProbeList{}, &holdv1alpha1.UpgradeHoldList{}
	for _, list := range []client.ObjectList{probes, holds} {
		if err := r.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			log.FromContext(ctx).Error(err, "Failed to list the operators to enqueue")
			return nil
		}
	}
	var out []holdv1alpha1.OperatorReference
	for i := range probes.Items {
		out = append(out, workloads.OfProbe(ctx, &probes.Items[i])...)
	}
	for i := range holds.Items {
		out = append(out, ofHold(&holds.Items[i])...)
	}
	return out
}
