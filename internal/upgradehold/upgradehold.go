// Package upgradehold writes the UpgradeHolds of the operators of any installer.
package upgradehold

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/gate"
	"github.com/operator-status/operator-status/internal/kube"
	upgradeholdstatus "github.com/operator-status/operator-status/internal/status/upgradehold"
	"github.com/operator-status/operator-status/internal/updatewindow"
)

// FieldOwner is the field manager of UpgradeHolds.
const FieldOwner = "operator-status"

// Operator is an operator with the gate's decision about an update to any version.
type Operator struct {
	holdv1alpha1.OperatorReference

	// Request asks for its updates. Events are about it. It is nil if the operator does not exist.
	Request client.Object

	// Installed is true if a version of it has run.
	Installed bool

	// Holds are those of the gate.
	Holds []gate.Hold

	// Allowed is the version that an administrator allows although the operator does not, or empty. Only users allow
	// the updates that they hold, by an annotation of the UpgradeHold.
	Allowed string

	// NotHeld are the names of the CustomResourceDefinitions that may change meanwhile, since the operator does not serve them in all
	// namespaces.
	NotHeld []string

	// Unrecorded is true if no record of its updates was found that a policy could deny.
	Unrecorded bool

	// Denied returns the updates that the API server denies, except for the version that is allowed. It is nil if the installer
	// asks the gate itself.
	Denied func(allowed string) *holdv1alpha1.DeniedUpdates
}

// Writer writes the UpgradeHolds of operators.
type Writer struct {
	Client   client.Client // reads from a cache
	Live     client.Reader // bypasses it
	Recorder events.EventRecorder

	// Index is where the policies look up what they deny.
	Index *Index

	// Namespace is that of operator-status, in which updates cannot be held.
	Namespace string

	Now func() time.Time

	written kube.Written
	seen    sync.Map // holdv1alpha1.OperatorReference of each operator that has a reported UpgradeHold
}

// +kubebuilder:rbac:groups=operatorstatus.io,resources=upgradeholds,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups=operatorstatus.io,resources=upgradeholds/status,verbs=update
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=validatingadmissionpolicies;validatingadmissionpolicybindings,verbs=get;list;watch

// Write creates or deletes the UpgradeHold that reports why an operator must not be updated, and writes the statuses of those
// that users created for it. The result is when the next one begins or ends.
func (w *Writer) Write(ctx context.Context, op Operator) (reconcile.Result, error) {
	holds, err := Of(ctx, w.Client, op.OperatorReference)
	if err != nil {
		return reconcile.Result{}, err
	}
	enforcement, err := EnforcementOf(ctx, w.Client, op.needed(), w.Namespace)
	if err != nil {
		return reconcile.Result{}, err
	}
	enforced := enforced{bound: enforcement == Enforced}
	if enforced.index, err = w.Index.Parts(ctx); err != nil {
		return reconcile.Result{}, err
	}
	var out reconcile.Result
	reported := false
	for i := range holds {
		h := holds[i].DeepCopy()
		if h.IsReported() && (reported || !op.Installed || len(upgradeholdstatus.Own(h, op.Holds)) == 0) {
			if err := w.delete(ctx, h); err != nil {
				return out, err
			}
			continue
		}
		reported = reported || h.IsReported()
		if state := updatewindow.At(h.Spec.HoldTerms, w.second().Time); !state.Changes.IsZero() {
			out.RequeueAfter = kube.Sooner(out.RequeueAfter, max(wholeSecond(state.Changes).Sub(w.Now()), time.Millisecond))
		}
		if err := w.update(ctx, h, op, enforced); err != nil {
			return out, err
		}
		c := meta.FindStatusCondition(h.Status.Conditions, holdv1alpha1.ConditionEnforced)
		if c != nil && c.Reason == holdv1alpha1.ReasonNotIndexed && op.Installer == holdv1alpha1.InstallerOLM {
			out.RequeueAfter = untilIndexed // of others the index is watched
		}
	}
	wanted := newReported(op.OperatorReference)
	if reported || !op.Installed || w.reserves(op) || len(upgradeholdstatus.Own(wanted, op.Holds)) == 0 {
		return out, nil
	}
	return out, w.create(ctx, wanted, op, enforced)
}

// reserves reports whether updates in the namespace of an operator cannot be held.
func (w *Writer) reserves(op Operator) bool {
	return op.Namespace == w.Namespace || slices.Contains(holdv1alpha1.ReservedNamespaces, op.Namespace)
}

// untilIndexed is after how long an UpgradeHold of OLM that the index did not have is written again.
const untilIndexed = 200 * time.Millisecond

// enforced is whether a policy denies the updates of held operators, and the index in which it looks them up.
type enforced struct {
	bound bool
	index []upgradeholdstatus.Part
}

// Enforcement is how the API server treats the updates of an installer's held operators.
type Enforcement string

// Enforcements.
const (
	Enforced    Enforcement = "Enforced"    // a policy denies them
	Released    Enforcement = "Released"    // a policy would deny them, but is only audited
	NotEnforced Enforcement = "NotEnforced" // it has no policy for them
)

// needed returns the parts of the index in which policies have to look up the updates of a held operator.
func (op Operator) needed() []string {
	if op.Denied == nil {
		return []string{holdv1alpha1.DeniesInstallPlans}
	}
	var out []string
	denied := op.Denied("")
	for denies, some := range map[string]bool{
		holdv1alpha1.DeniesInstallPlans: denied.InstallPlans != nil, holdv1alpha1.DeniesRevisions: denied.Revisions != nil,
		holdv1alpha1.DeniesWorkloads: len(denied.Workloads) > 0, holdv1alpha1.DeniesDefinitions: len(denied.CustomResourceDefinitions) > 0,
	} {
		if some {
			out = append(out, denies)
		}
	}
	return out
}

// EnforcementOf returns how the API server treats the updates that policies have to look up in some parts of the index. A policy that looks
// them up in another namespace than that of operator-status denies none of them, nor does a binding without its policy.
func EnforcementOf(ctx context.Context, from client.Reader, needed []string, namespace string) (Enforcement, error) {
	list := &admissionregistrationv1.ValidatingAdmissionPolicyBindingList{}
	if err := from.List(ctx, list, client.HasLabels{holdv1alpha1.LabelEnforces}); err != nil {
		return "", fmt.Errorf("listing the ValidatingAdmissionPolicyBindings: %w", err)
	}
	missing := slices.Clone(needed)
	for i := range list.Items {
		spec := list.Items[i].Spec
		if spec.ParamRef == nil || spec.ParamRef.Namespace != namespace || spec.ParamRef.Selector == nil {
			continue
		}
		denies := spec.ParamRef.Selector.MatchLabels[holdv1alpha1.LabelDenies]
		if !slices.Contains(needed, denies) {
			continue
		}
		if !slices.Contains(spec.ValidationActions, admissionregistrationv1.Deny) {
			return Released, nil
		}
		policy := &admissionregistrationv1.ValidatingAdmissionPolicy{}
		switch err := from.Get(ctx, types.NamespacedName{Name: spec.PolicyName}, policy); {
		case err == nil:
			missing = slices.DeleteFunc(missing, func(d string) bool { return d == denies })
		case !apierrors.IsNotFound(err):
			return "", fmt.Errorf("getting ValidatingAdmissionPolicy %s: %w", spec.PolicyName, err)
		}
	}
	if len(missing) > 0 {
		return NotEnforced, nil
	}
	return Enforced, nil
}

// Enqueue enqueues the requests for the operator of an UpgradeHold, if the installer installs it.
func Enqueue(installer holdv1alpha1.Installer, requests func(context.Context, types.NamespacedName) []reconcile.Request) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
		hold, ok := o.(*holdv1alpha1.UpgradeHold)
		if !ok || hold.Spec.Operator.Installer != installer {
			return nil
		}
		return requests(ctx, types.NamespacedName{Namespace: hold.Spec.Operator.Namespace, Name: hold.Spec.Operator.Name})
	})
}

func newReported(op holdv1alpha1.OperatorReference) *holdv1alpha1.UpgradeHold {
	out := &holdv1alpha1.UpgradeHold{Spec: holdv1alpha1.UpgradeHoldSpec{Operator: op}}
	out.Name, out.Labels = op.HoldName(), map[string]string{holdv1alpha1.LabelReported: "true"}
	return out
}

// Create creates an UpgradeHold, under a generated name if one that is not own has its name. It returns the one that has it if that is own:
// the cache does not have it yet.
func Create(ctx context.Context, c client.Client, live client.Reader, h *holdv1alpha1.UpgradeHold, own func(*holdv1alpha1.UpgradeHold) bool) (
	*holdv1alpha1.UpgradeHold, error,
) {
	name := h.Name
	err := c.Create(ctx, h, client.FieldOwner(FieldOwner))
	if apierrors.IsAlreadyExists(err) {
		found := &holdv1alpha1.UpgradeHold{}
		if err := live.Get(ctx, client.ObjectKeyFromObject(h), found); err != nil {
			return nil, fmt.Errorf("getting UpgradeHold %s: %w", name, err)
		}
		if own(found) {
			return found, nil
		}
		h.Name, h.GenerateName, h.ResourceVersion = "", name+"-", "" // a user has taken the name
		err = c.Create(ctx, h, client.FieldOwner(FieldOwner))
	}
	if err != nil {
		return nil, fmt.Errorf("creating UpgradeHold %s: %w", name, err)
	}
	return nil, nil
}

// Delete deletes an UpgradeHold unless it is another one of the name by now.
func Delete(ctx context.Context, c client.Client, h *holdv1alpha1.UpgradeHold) error {
	if err := c.Delete(ctx, h, client.Preconditions{UID: &h.UID}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting UpgradeHold %s: %w", h.Name, err)
	}
	return nil
}

// create creates the UpgradeHold that reports why an operator must not be updated.
func (w *Writer) create(ctx context.Context, h *holdv1alpha1.UpgradeHold, op Operator, by enforced) error {
	own := func(h *holdv1alpha1.UpgradeHold) bool {
		return h.IsReported() && h.Spec.Operator == op.OperatorReference
	}
	found, err := Create(ctx, w.Client, w.Live, h, own)
	if err != nil {
		return err
	}
	if found != nil {
		return w.update(ctx, found, op, by)
	}
	if _, before := w.seen.Load(op.OperatorReference); before && op.Request != nil {
		w.Recorder.Eventf(op.Request, h, corev1.EventTypeWarning, v1alpha1.EventUpgradeHoldRestored, v1alpha1.EventActionHold,
			"UpgradeHold %s was deleted although the operator must not be updated. It has been created again", h.Name)
	}
	log.FromContext(ctx).Info("Created UpgradeHold", "upgradeHold", h.Name)
	return w.update(ctx, h, op, by)
}

// delete deletes an UpgradeHold that operator-status created.
func (w *Writer) delete(ctx context.Context, h *holdv1alpha1.UpgradeHold) error {
	w.seen.Delete(h.Spec.Operator)
	if err := Delete(ctx, w.Client, h); err != nil {
		return err
	}
	log.FromContext(ctx).Info("Deleted UpgradeHold, since the operator may be updated", "upgradeHold", h.Name)
	return nil
}

// second returns the current time with the precision of a status. Holds begin and end then, too.
func (w *Writer) second() metav1.Time { return metav1.NewTime(w.Now()).Rfc3339Copy() }

// wholeSecond returns the first whole second that is not before t.
func wholeSecond(t time.Time) time.Time {
	return t.Add(time.Second - 1).Truncate(time.Second)
}

// update writes the status of an UpgradeHold if it changed.
func (w *Writer) update(ctx context.Context, h *holdv1alpha1.UpgradeHold, op Operator, by enforced) error {
	if w.written.Behind(h) {
		return nil // its event enqueues the operator
	}
	if h.IsReported() {
		w.seen.Store(h.Spec.Operator, struct{}{})
	}
	in := upgradeholdstatus.Inputs{
		Hold: h, Installed: op.Installed, Reserved: w.reserves(op), Holds: op.Holds, NotHeld: op.NotHeld, Bound: by.bound, Index: by.index, Unrecorded: op.Unrecorded,
		Now: w.second(),
	}
	allowed := h.Annotations[v1alpha1.AnnotationAllowUpgrade]
	if h.IsReported() {
		allowed = op.Allowed
		if slices.ContainsFunc(upgradeholdstatus.Own(h, op.Holds), func(h gate.Hold) bool { return h.Override == (gate.Override{}) }) {
			allowed = "" // an administrator holds the updates
		}
	}
	if op.Denied != nil {
		in.Denied = op.Denied(allowed)
	}
	before, desired := h.Status, upgradeholdstatus.Compute(in)
	if equality.Semantic.DeepEqual(before, desired) {
		return nil
	}
	h.Status = desired
	if err := kube.UpdateStatus(ctx, w.Client, h, FieldOwner); err != nil {
		return err
	}
	w.written.Note(h)
	if allowed != "" && !before.Denied.Allows(allowed) && desired.Denied.Allows(allowed) {
		w.Recorder.Eventf(op.Request, h, corev1.EventTypeWarning, v1alpha1.EventUpgradeOverridden, v1alpha1.EventActionApprove,
			"The update to %s is allowed by an annotation. Without it, the update would be held: %s", allowed, desired.Message)
	}
	return nil
}
