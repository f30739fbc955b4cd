// Package platformoperator applies the objects of PlatformOperators, and reports on them.
package platformoperator

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	operatorsv1alpha1 "github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/api/platform/v1alpha1"
	"github.com/operator-status/operator-status/internal/annotations"
	"github.com/operator-status/operator-status/internal/apply"
	"github.com/operator-status/operator-status/internal/kube"
	"github.com/operator-status/operator-status/internal/operand"
	"github.com/operator-status/operator-status/internal/operatorgroup"
	"github.com/operator-status/operator-status/internal/status/condition"
	platformoperatorstatus "github.com/operator-status/operator-status/internal/status/platformoperator"
	"github.com/operator-status/operator-status/internal/upgradehold"
)

// Reconciler makes the cluster match its PlatformOperators, and reports their state in their status.
type Reconciler struct {
	// Client reads from the cache.
	Client client.Client

	// Reader reads from the API server.
	Reader client.Reader

	// Watches watches the composed objects.
	Watches *Watches

	// Live lists and watches at the API server.
	Live client.WithWatch

	// As returns a client that acts as a service account.
	As func(types.NamespacedName) (client.WithWatch, error)

	// DefaultCatalog is the catalog of the packages whose PlatformOperator names none.
	DefaultCatalog types.NamespacedName

	// Composer is the account that applies `spec.resources` unless another is chosen for it. ClusterRoles labelled
	// for it grant its permissions.
	Composer apply.Identity

	// DefaultAccount applies `spec.resources` of PlatformOperators that name no service account; usually the Composer.
	DefaultAccount apply.Identity

	// Reserved matches the namespaces that no PlatformOperator may install in.
	Reserved platformoperatorstatus.Reserved

	// DegradedInertia is how long a PlatformOperator must not have been failing before FailingSince is cleared.
	DegradedInertia time.Duration

	Now func() time.Time

	// subscriptions is true once OLM's kinds are installed and can be read from the cache.
	subscriptions atomic.Bool

	departures departures
	contests   contests
}

// +kubebuilder:rbac:groups=platform.openshift.io,resources=platformoperators,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=platform.openshift.io,resources=platformoperators/status,verbs=patch
// +kubebuilder:rbac:groups=platform.openshift.io,resources=platformoperators/finalizers,verbs=update
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=operators.coreos.com,resources=operatorgroups;subscriptions,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=operatorstatus.io,resources=upgradeholds,verbs=get;list;watch
// +kubebuilder:rbac:groups=operators.coreos.com,resources=clusterserviceversions,verbs=get;list;watch;delete

// Reconcile composes the objects of a PlatformOperator, and writes its status if that changed.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	op := &v1alpha1.PlatformOperator{}
	if err := r.Client.Get(ctx, request.NamespacedName, op); err != nil {
		if apierrors.IsNotFound(err) {
			r.departures.await(request.Name, nil)
		}
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	return kube.Requeue(composer{r, op}.reconcile(ctx))
}

func (c composer) reconcile(ctx context.Context) (reconcile.Result, error) {
	op := c.op
	if op.DeletionTimestamp != nil {
		return c.delete(ctx)
	}
	if awaited, err := c.awaitsOLM(ctx); awaited || err != nil {
		return reconcile.Result{}, err // WatchOLM enqueues it
	}
	in, err := c.read(ctx)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("reading the inputs of PlatformOperator %s: %w", op.Name, err)
	}
	if err := c.compose(ctx, &in); err != nil {
		return reconcile.Result{}, fmt.Errorf("composing PlatformOperator %s: %w", op.Name, err)
	}
	status, quiet := platformoperatorstatus.Compute(in)
	return reconcile.Result{RequeueAfter: in.RetryAfter(status, quiet)}, c.write(ctx, status)
}

// awaitsOLM reports whether OLM's kinds are installed and not yet watched. A manager that starts must not report meanwhile that they are
// missing.
func (r *Reconciler) awaitsOLM(ctx context.Context) (bool, error) {
	if r.subscriptions.Load() {
		return false, nil
	}
	for name, version := range map[string]string{
		"subscriptions.operators.coreos.com":  operatorsv1alpha1.GroupVersion.Version,
		annotations.CSVDefinition:             operatorsv1alpha1.GroupVersion.Version,
		"operatorgroups.operators.coreos.com": operatorsv1.GroupVersion.Version,
	} {
		if served, err := operand.IsServed(ctx, r.Client, name, version); !served || err != nil {
			return false, err
		}
	}
	return true, nil
}

// read gathers the inputs that do not depend on composing: duplicates, and the Subscription with its related objects.
func (c composer) read(ctx context.Context) (platformoperatorstatus.Inputs, error) {
	out := platformoperatorstatus.Inputs{Operator: c.op, NoOLM: !c.subscriptions.Load(), DegradedInertia: c.DegradedInertia, Now: metav1.NewTime(c.Now())}
	if err := c.duplicates(ctx, &out); err != nil {
		return out, err
	}
	if out.NoOLM {
		return out, nil
	}
	return out, c.subscription(ctx, &out)
}

// duplicates finds the other PlatformOperators for the same package.
func (c composer) duplicates(ctx context.Context, in *platformoperatorstatus.Inputs) error {
	if in.Observes() {
		return nil
	}
	list := &v1alpha1.PlatformOperatorList{}
	if err := c.Client.List(ctx, list, client.MatchingFields{IndexPackage: c.op.Spec.Package.Name}, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing the PlatformOperators for package %s: %w", c.op.Spec.Package.Name, err)
	}
	for i := range list.Items {
		other := &list.Items[i]
		if other.UID == c.op.UID || other.DeletionTimestamp != nil || other.Spec.ManagementPolicy == v1alpha1.ManagementObserve {
			continue
		}
		in.Duplicates = append(in.Duplicates, other.Name)
		in.Yields = in.Yields || older(other, c.op)
	}
	slices.Sort(in.Duplicates)
	return nil
}

// older reports whether a is older than b, or of the same age and first by name.
func older(a, b *v1alpha1.PlatformOperator) bool {
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.CreationTimestamp.Before(&b.CreationTimestamp)
	}
	return a.Name < b.Name
}

// subscription reads the Subscription of a PlatformOperator, its CSVs and the Probe of the running operator.
func (c composer) subscription(ctx context.Context, in *platformoperatorstatus.Inputs) error {
	candidates, err := c.candidates(ctx)
	if err != nil {
		return err
	}
	if in.Observes() {
		in.Observe(candidates, c.DefaultCatalog)
	} else if i := slices.IndexFunc(candidates, func(sub operatorsv1alpha1.Subscription) bool {
		return platformoperatorstatus.Controls(c.op, &sub)
	}); i >= 0 {
		in.Subscription = &candidates[i]
	}
	if in.Subscription == nil {
		return nil
	}
	if in.CSVs, err = operatorgroup.CSVs(ctx, c.Client, in.Subscription.Namespace); err != nil {
		return err
	}
	if running := in.Running(); running != nil {
		if in.Probe, err = annotations.Find(ctx, c.Client, client.ObjectKeyFromObject(running)); err != nil {
			return err
		}
	}
	in.UpgradeHolds, err = upgradehold.Of(ctx, c.Client, holdv1alpha1.SubscribedOperator(in.Subscription.Namespace, in.Subscription.Name))
	if meta.IsNoMatchError(err) { // no objects exist if the kind is not served
		return nil
	}
	return err
}

// candidates returns the Subscriptions that may belong to the PlatformOperator: those in its namespace that it controls
// or that are for its package; those of all namespaces if it only observes and names no namespace.
func (c composer) candidates(ctx context.Context) ([]operatorsv1alpha1.Subscription, error) {
	list := &operatorsv1alpha1.SubscriptionList{}
	options := []client.ListOption{client.UnsafeDisableDeepCopy}
	if c.op.Spec.ManagementPolicy != v1alpha1.ManagementObserve || c.op.Spec.Namespace != "" {
		options = append(options, client.InNamespace(c.op.GetNamespaceToInstallIn()))
	}
	if err := c.Client.List(ctx, list, options...); err != nil {
		return nil, fmt.Errorf("listing the Subscriptions: %w", err)
	}
	return slices.DeleteFunc(slices.Clone(list.Items), func(sub operatorsv1alpha1.Subscription) bool {
		return !platformoperatorstatus.Controls(c.op, &sub) && (sub.Spec == nil || sub.Spec.Package != c.op.Spec.Package.Name)
	}), nil
}

// existing reads the existing objects that the composition depends on.
func (c composer) existing(ctx context.Context, in *platformoperatorstatus.Inputs) (platformoperatorstatus.Existing, error) {
	namespace := platformoperatorstatus.NewObject("v1", "Namespace", "", c.op.GetNamespaceToInstallIn())
	out := platformoperatorstatus.Existing{DefaultCatalog: c.DefaultCatalog, NamespaceReserved: c.Reserved.Has(namespace.GetName())}
	if usesNamespace(c.op) {
		out.NamespaceOfOthers = namespace
	} else {
		live, err := c.live(ctx, c.itself(), namespace)
		if err != nil {
			return out, fmt.Errorf("getting %s: %w", platformoperatorstatus.Title(namespace), err)
		}
		if live != nil && !platformoperatorstatus.Controls(c.op, live) && !platformoperatorstatus.Consents(c.op, live) {
			out.NamespaceOfOthers = live
		}
	}
	if in.NoOLM {
		return out, nil
	}
	groups := &operatorsv1.OperatorGroupList{}
	if err := c.Client.List(ctx, groups, client.InNamespace(namespace.GetName()), client.UnsafeDisableDeepCopy); err != nil {
		return out, fmt.Errorf("listing the OperatorGroups of %s: %w", platformoperatorstatus.Title(namespace), err)
	}
	out.Groups, out.InstallModes = groups.Items, in.InstallModes()
	var err error
	out.Subscriptions, err = c.candidates(ctx)
	return out, err
}

// usesNamespace reports whether the PlatformOperator installs in a namespace that it does not control: for this
// generation it is Synced without a Namespace. That saves reading the namespace, which is not watched, every time.
func usesNamespace(op *v1alpha1.PlatformOperator) bool {
	status := op.Status
	return status.ObservedGeneration == op.Generation && meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionSynced) &&
		!slices.ContainsFunc(status.Resources, func(r v1alpha1.ResourceStatus) bool { return r.Name == platformoperatorstatus.EntryNamespace })
}

// compose applies the desired objects and prunes the others. If the PlatformOperator only observes, it releases all. If
// a duplicate has precedence or nothing may be created, it changes none.
func (c composer) compose(ctx context.Context, in *platformoperatorstatus.Inputs) error {
	if in.Observes() {
		var err error
		in.Objects, err = c.releaseAll(ctx)
		return err
	}
	if in.Yields {
		var err error
		in.Objects, err = c.kept(ctx)
		return err
	}
	existing, err := c.existing(ctx, in)
	if err != nil {
		return err
	}
	if in.Blocked = existing.BlockedBy(c.op); in.Blocked != nil {
		in.Objects, err = c.kept(ctx)
		return err
	}
	desired := platformoperatorstatus.Compose(c.op, existing)
	if err := c.announce(ctx, desired); err != nil {
		return err
	}
	named := map[string]string{} // the entry of each object
	for _, d := range desired {
		o, err := c.applyOnce(ctx, d, named)
		if err != nil {
			return fmt.Errorf("applying %s: %w", platformoperatorstatus.Title(d.Object), err)
		}
		in.Objects = append(in.Objects, o)
	}
	leaving, err := c.prune(ctx, desired)
	in.Objects = append(in.Objects, leaving...)
	return err
}

// applyOnce applies an object unless another entry has it, too: one would overwrite the other for ever.
func (c composer) applyOnce(ctx context.Context, d platformoperatorstatus.Desired, named map[string]string) (platformoperatorstatus.Object, error) {
	if err := c.place(d.Object); err != nil {
		return c.apply(ctx, d) // which reports it
	}
	kind := d.Object.GroupVersionKind().GroupKind().String()
	key := kind + " " + client.ObjectKeyFromObject(d.Object).String()
	if other, twice := named[key]; twice {
		return platformoperatorstatus.Object{Desired: d, Problem: &condition.Problem{Reason: v1alpha1.ReasonApplyFailed, Message: fmt.Sprintf(
			"%s is already composed as %s: remove one of them", platformoperatorstatus.Title(d.Object), other)}}, nil
	}
	named[key] = d.Entry
	return c.apply(ctx, d)
}

// kept returns the objects that the PlatformOperator created before it had to stop. They stay as they are.
func (c composer) kept(ctx context.Context) ([]platformoperatorstatus.Object, error) {
	var out []platformoperatorstatus.Object
	for _, r := range c.op.Status.Resources {
		o, _, err := c.recorded(ctx, r)
		if err != nil {
			return nil, err
		}
		if o != nil {
			out = append(out, *o)
		}
	}
	return out, nil
}

// announce adds the finalizer and records the objects that are about to be created in the status. If the manager stops
// in between, those objects are still found for cleanup.
func (c composer) announce(ctx context.Context, desired []platformoperatorstatus.Desired) error {
	before := c.op.DeepCopy()
	if controllerutil.AddFinalizer(c.op, v1alpha1.Finalizer) {
		patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
		if err := c.Client.Patch(ctx, c.op, patch, client.FieldOwner(FieldOwner)); err != nil {
			return fmt.Errorf("adding the finalizer: %w", err)
		}
	}
	known := func(d platformoperatorstatus.Desired) bool {
		return slices.ContainsFunc(c.op.Status.Resources, func(r v1alpha1.ResourceStatus) bool { return platformoperatorstatus.RefersTo(r.Reference, d.Object) })
	}
	status := c.op.Status.DeepCopy()
	for _, d := range desired {
		if err := c.place(d.Object); err != nil {
			continue // apply reports it
		}
		if !known(d) {
			status.Resources = append(status.Resources, v1alpha1.ResourceStatus{
				Name: d.Entry, Reference: platformoperatorstatus.ReferenceTo(platformoperatorstatus.Object{Desired: d}), Reason: v1alpha1.ReasonCreating,
				Message: "Not created yet",
			})
		}
	}
	if len(status.Resources) == len(c.op.Status.Resources) {
		return nil
	}
	return c.write(ctx, *status)
}

// write writes the status if it changed.
func (c composer) write(ctx context.Context, status v1alpha1.PlatformOperatorStatus) error {
	if equality.Semantic.DeepEqual(status, c.op.Status) {
		return nil
	}
	before := c.op.DeepCopy()
	c.op.Status = status
	return kube.PatchStatus(ctx, c.Client, before, c.op, client.FieldOwner(FieldOwner))
}

// releaseAll releases every object in the status, and returns those that it may not release.
func (c composer) releaseAll(ctx context.Context) ([]platformoperatorstatus.Object, error) {
	var out []platformoperatorstatus.Object
	for _, r := range c.op.Status.Resources {
		o, err := c.release(ctx, r)
		if err != nil {
			return nil, err
		}
		if o != nil {
			out = append(out, *o)
		}
	}
	return out, nil
}
