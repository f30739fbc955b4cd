// Package subscription contains the Subscription controller. It creates an InstallPlan when the channel has an update,
// and keeps the status of Subscriptions.
package subscription

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/gate"
	"github.com/operator-status/operator-status/internal/installer/builtin/catalog/store"
	"github.com/operator-status/operator-status/internal/installer/builtin/record"
	"github.com/operator-status/operator-status/internal/installer/builtin/resolve"
	"github.com/operator-status/operator-status/internal/kube"
	"github.com/operator-status/operator-status/internal/status/condition"
	subscriptionstatus "github.com/operator-status/operator-status/internal/status/subscription"
)

// FieldOwner is the field manager of Subscription statuses and of InstallPlans that this controller creates.
const FieldOwner = client.FieldOwner("operator-status-subscription")

// Reconciler reconciles all Subscriptions of a namespace at once: a request names the namespace. The oldest
// Subscription is first, and the bundles that it installs count as present for the others.
type Reconciler struct {
	Client client.Client

	// Reader reads from the API server.
	Reader client.Reader

	Catalogs *store.Store

	// Records reports which CSVs have been installed completely.
	Records record.Grants

	// GlobalNamespace is the namespace of the catalogs that every namespace can see.
	GlobalNamespace string

	Recorder events.EventRecorder

	// Resolved observes how long it took to resolve a namespace, in seconds.
	Resolved prometheus.Observer

	Now func() time.Time

	written kube.Written
}

// Reconcile reconciles the Subscriptions of one namespace.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	n, err := r.read(ctx, request.Name)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("reading the inputs of the Subscriptions of namespace %s: %w", request.Name, err)
	}
	if slices.ContainsFunc(n.subs, func(sub *v1alpha1.Subscription) bool { return r.written.Behind(sub) }) {
		return reconcile.Result{}, nil
	}
	began := time.Now()
	n.resolveAll()
	r.Resolved.Observe(time.Since(began).Seconds())
	var failures []error
	var outdated error
	var again time.Duration
	for _, sub := range n.subs {
		later, err := r.one(ctx, n, sub)
		again = max(again, later)
		if kube.Outdated(err) {
			outdated = err
		} else if err != nil { // must not block the other Subscriptions
			failures = append(failures, fmt.Errorf("subscription %s/%s: %w", sub.Namespace, sub.Name, err))
		}
	}
	if len(failures) > 0 {
		return reconcile.Result{}, errors.Join(failures...)
	}
	return kube.Requeue(reconcile.Result{RequeueAfter: again}, outdated)
}

// one creates the InstallPlan that a Subscription needs and writes its status. It returns the delay before a requeue
// without an event. Zero means never.
func (r *Reconciler) one(ctx context.Context, n *namespace, sub *v1alpha1.Subscription) (time.Duration, error) {
	res, ok := n.results[sub.Name]
	if !ok {
		return 0, nil // the status stays as it is until the catalog has been read again
	}
	var plan *olm.InstallPlan
	if res.wanted && !adopting(sub, res.head) {
		var err error
		if plan, err = r.ensure(ctx, n, sub, res); err != nil {
			return 0, err
		}
	}
	if err := r.discard(ctx, n, sub, plan); err != nil {
		return 0, err
	}
	return r.write(ctx, sub, subscriptionstatus.Compute(r.inputs(n, sub, res, plan)))
}

// adopting reports whether a Subscription takes over an existing CSV that its status does not name yet. The InstallPlan
// for an update waits for that, since it reads the status.
func adopting(sub *v1alpha1.Subscription, head *v1alpha1.ClusterServiceVersion) bool {
	return head != nil && sub.Status.CurrentCSV == "" && sub.Status.InstalledCSV == ""
}

func (r *Reconciler) inputs(n *namespace, sub *v1alpha1.Subscription, res *result, plan *olm.InstallPlan) subscriptionstatus.Inputs {
	head, solution, problem := res.head, res.solution, res.problem
	out := subscriptionstatus.Inputs{
		Subscription:    sub,
		CatalogSources:  n.sources,
		GlobalNamespace: n.global,
		Resolution: &subscriptionstatus.Resolution{Newest: solution.Newest, Beyond: solution.Beyond, Note: solution.Note,
			Deprecations: subscriptionstatus.Deprecations(solution.Deprecations)},
		Plan:      plan,
		Installed: n.csvs[sub.Status.InstalledCSV],
		Current:   n.csvs[sub.Status.CurrentCSV],
		Now:       metav1.NewTime(r.Now()),
	}
	if out.Plan == nil && sub.Status.InstallPlanRef != nil {
		out.Plan = n.plans[sub.Status.InstallPlanRef.Name]
	}
	if out.Plan == nil && head != nil { // dependencies are installed by the plan of their dependent
		out.Plan = n.plans[head.Annotations[v1alpha1.AnnotationInstallPlan]]
	}
	if out.Current == nil {
		out.Current = head
	}
	if solution.Newest == "" && solution.Note == "" && problem == nil && head != nil {
		out.Resolution.Newest = head.Name
	}
	if len(solution.Choices) > 0 {
		out.Resolution.Next = res.next
	}
	if problem == nil {
		problem = unresolvedPlan(out.Plan)
	}
	if problem != nil {
		out.Resolution.Problem = &subscriptionstatus.Problem{Reason: problem.Reason, Message: problem.Message}
	}
	if res.unread {
		out.Resolution = nil
	}
	out.Gate = decisionOf(out.Plan)
	return out
}

// unresolvedPlan returns why an InstallPlan could not be resolved, or nil.
func unresolvedPlan(plan *olm.InstallPlan) *resolve.Problem {
	if plan == nil {
		return nil
	}
	c := plan.Status.GetCondition(olm.InstallPlanResolved)
	if plan.Status.Phase != olm.InstallPlanPhasePlanning || c.Status != "False" {
		return nil
	}
	return &resolve.Problem{Reason: string(c.Reason), Message: c.Message}
}

// decisionOf returns the gate's decision about an InstallPlan, read from its status.
func decisionOf(plan *olm.InstallPlan) gate.Decision {
	if plan == nil || plan.Status.Phase != olm.InstallPlanPhaseRequiresApproval {
		return gate.Decision{}
	}
	c := plan.Status.GetCondition(v1alpha1.ConditionUpgradeHeld)
	if c.Status != "True" {
		return gate.Decision{}
	}
	return gate.Decision{Held: true, Reason: string(c.Reason), Message: c.Message}
}

// write updates a status that changed. If only messages differ from a recent status, it returns when to requeue
// instead.
func (r *Reconciler) write(ctx context.Context, sub *v1alpha1.Subscription, status v1alpha1.SubscriptionStatus) (time.Duration, error) {
	if equality.Semantic.DeepEqual(status, sub.Status) {
		return 0, nil
	}
	wait := condition.MessageInterval - r.Now().Sub(sub.Status.LastUpdated.Time)
	if wait > 0 && subscriptionstatus.SameExceptMessages(status, sub.Status) {
		return wait, nil
	}
	if status.UpToDate != sub.Status.UpToDate || status.InstalledCSV != sub.Status.InstalledCSV {
		log.FromContext(ctx).Info("Subscription changed", "subscription", sub.Name, "installed", status.InstalledCSV, "upToDate", status.UpToDate, "message",
			status.Message)
	}
	out := sub.DeepCopy()
	out.Status = status
	if err := kube.UpdateStatus(ctx, r.Client, out, FieldOwner); err != nil {
		return 0, err
	}
	r.written.Note(out)
	return 0, nil
}

// ensure returns the InstallPlan for a solution and creates it if necessary. Its name is derived from the solution
// and the deleted plan before it, so a plan that was created just before a restart is found again.
func (r *Reconciler) ensure(ctx context.Context, n *namespace, sub *v1alpha1.Subscription, res *result) (*olm.InstallPlan, error) {
	desired := planFor(res.owners, res.solution)
	if actual := n.planLike(desired, res.owners[0]); actual != nil {
		return actual, nil
	}
	if approved := n.approvedPlan(sub, res.solution); approved != nil {
		return approved, nil
	}
	deleted, err := r.deletedPlan(ctx, n, res.owners[0])
	if err != nil {
		return nil, err
	}
	if deleted != "" {
		desired.Name = planNameAfter(desired.Annotations[v1alpha1.AnnotationSolution], deleted)
	}
	err = r.Client.Create(ctx, desired, FieldOwner)
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return nil, fmt.Errorf("creating InstallPlan %s: %w", desired.Name, err)
	}
	if err == nil {
		log.FromContext(ctx).Info("Created InstallPlan", "subscription", sub.Name, "plan", desired.Name, "installs", desired.Spec.ClusterServiceVersionNames)
		if deleted != "" && sub.Status.CurrentCSV == res.next && sub.Status.InstalledCSV != res.next {
			r.Recorder.Eventf(sub, desired, corev1.EventTypeNormal, v1alpha1.ReasonReferencedInstallPlanNotFound, v1alpha1.EventActionRemake,
				"InstallPlan %s was deleted before %s was installed: InstallPlan %s replaces it", sub.Status.InstallPlanRef.Name, res.next, desired.Name)
		}
	}
	n.plans[desired.Name] = desired
	return desired, nil
}

// deletedPlan returns the UID of the InstallPlan that a Subscription's status refers to if it has been deleted, or the
// empty string. It reads from the API server, since the cache may not have the new plan yet.
func (r *Reconciler) deletedPlan(ctx context.Context, n *namespace, sub *v1alpha1.Subscription) (types.UID, error) {
	ref := sub.Status.InstallPlanRef
	if ref == nil || n.plans[ref.Name] != nil {
		return "", nil
	}
	plan := &olm.InstallPlan{}
	err := r.Reader.Get(ctx, types.NamespacedName{Namespace: sub.Namespace, Name: ref.Name}, plan)
	switch {
	case apierrors.IsNotFound(err), err == nil && plan.UID != ref.UID, err == nil && !plan.DeletionTimestamp.IsZero():
		return ref.UID, nil
	case err != nil:
		return "", fmt.Errorf("getting InstallPlan %s, which the status of Subscription %s names: %w", ref.Name, sub.Name, err)
	}
	return "", nil
}

// discard deletes objects that a newer plan makes obsolete: InstallPlans that are not being applied and have not
// installed any CSV that exists, and CSVs of deleted plans that were not applied completely.
func (r *Reconciler) discard(ctx context.Context, n *namespace, sub *v1alpha1.Subscription, wanted *olm.InstallPlan) error {
	if wanted == nil {
		return nil
	}
	for _, plan := range n.plans {
		if plan.Name == wanted.Name || !ownedBy(plan, sub) || beingWritten(plan) || n.hasInstalledCSV(plan) {
			continue
		}
		asSeen := client.Preconditions{UID: &plan.UID, ResourceVersion: &plan.ResourceVersion}
		delete(n.plans, plan.Name)
		if err := r.Client.Delete(ctx, plan, asSeen); apierrors.IsNotFound(err) {
			continue
		} else if err != nil {
			return err
		}
		log.FromContext(ctx).Info("Deleted superseded InstallPlan", "subscription", sub.Name, "plan", plan.Name, "by", wanted.Name)
	}
	for name := range n.incomplete {
		csv := n.csvs[name]
		if csv.Annotations[v1alpha1.AnnotationSubscription] != sub.Name || n.plans[csv.Annotations[v1alpha1.AnnotationInstallPlan]] != nil ||
			slices.Contains(wanted.Spec.ClusterServiceVersionNames, name) || !csv.DeletionTimestamp.IsZero() {
			continue
		}
		if err := r.Client.Delete(ctx, csv.DeepCopy(), client.Preconditions{UID: &csv.UID}); client.IgnoreNotFound(err) != nil {
			return err
		}
		log.FromContext(ctx).Info("Deleted ClusterServiceVersion that was never installed completely", "subscription", sub.Name, "csv", name, "by", wanted.Name)
	}
	return nil
}

// beingWritten reports whether a plan is being applied, and does not merely wait for a permission.
func beingWritten(plan *olm.InstallPlan) bool {
	waits := plan.Status.GetCondition(olm.InstallPlanInstalled).Status == corev1.ConditionFalse
	return plan.Status.Phase == olm.InstallPlanPhaseInstalling && !waits
}

func ownedBy(plan *olm.InstallPlan, sub *v1alpha1.Subscription) bool {
	return slices.ContainsFunc(plan.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == sub.UID })
}
