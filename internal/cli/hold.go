package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer"
	"github.com/operator-status/operator-status/internal/operator"
)

// timeOf returns the time of the flag --until, or nil for an empty one. A date is its first moment, in the local time zone.
func timeOf(text string) (*metav1.Time, error) {
	if text == "" {
		return nil, nil
	}
	out, err := time.Parse(time.RFC3339, text)
	if err != nil {
		out, err = time.ParseInLocation(time.DateOnly, text, time.Local)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("--until=%s is neither a date such as 2026-12-04 nor a time such as 2026-12-04T18:00:00Z", text)
	case !out.After(time.Now()):
		return nil, fmt.Errorf("--until=%s has passed", text)
	}
	return &metav1.Time{Time: out}, nil
}

// heldBy is the prefix of the name of the UpgradeHold that the command hold creates.
const heldBy = "held."

// createHold creates the UpgradeHold of an operator, or changes its message and end.
func (w writer) createHold(ctx context.Context, op operator.Operator, message string, until *metav1.Time) error {
	if op.Reference == (holdv1alpha1.OperatorReference{}) {
		return fmt.Errorf("updates of %s/%s cannot be held, since nothing asks for them", op.Namespace, op.Name)
	}
	hold := &holdv1alpha1.UpgradeHold{ObjectMeta: metav1.ObjectMeta{Name: heldBy + op.Reference.HoldName()}}
	hold.Spec = holdv1alpha1.UpgradeHoldSpec{Operator: op.Reference}
	hold.Spec.Message, hold.Spec.Until, hold.Spec.RequestedBy = message, until, w.user(ctx)
	done, err := "created", w.client.Create(ctx, hold, fieldOwner)
	if apierrors.IsAlreadyExists(err) {
		actual := &holdv1alpha1.UpgradeHold{}
		if err := w.client.Get(ctx, client.ObjectKeyFromObject(hold), actual); err != nil {
			return fmt.Errorf("getting UpgradeHold %s: %w", hold.Name, err)
		}
		if actual.Policy() != "" || actual.IsReported() {
			return fmt.Errorf("an UpgradeHoldPolicy or operator-status created UpgradeHold %s: to hold the updates of %s/%s, create one of another name",
				hold.Name, op.Namespace, op.Name)
		}
		before := actual.DeepCopy()
		actual.Spec.Message, actual.Spec.Until, actual.Spec.RequestedBy = hold.Spec.Message, hold.Spec.Until, hold.Spec.RequestedBy
		done, err = "changed", w.client.Patch(ctx, actual, client.MergeFrom(before), fieldOwner)
	}
	switch {
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return errors.New("the cluster has no UpgradeHolds: install operator-status there")
	case err != nil:
		return fmt.Errorf("holding the updates of %s/%s: %w", op.Namespace, op.Name, err)
	}
	end := "until it is released"
	if until != nil {
		end = "until " + until.UTC().Format(time.RFC3339) + ", or until it is released"
	}
	w.printf("upgradehold.operatorstatus.io", hold.Name, "%s: updates of %s/%s wait %s", done, op.Namespace, op.Name, end)
	if w.dryRun == "" {
		w.warnUnlessHeld(ctx, hold)
	}
	return nil
}

// user returns the name of the user for the API server, or empty.
func (w writer) user(ctx context.Context) string {
	review := &authenticationv1.SelfSubjectReview{}
	c, err := w.clientOfAnyKind()
	if err != nil || c.Create(ctx, review) != nil {
		return "" // it is for information only
	}
	return review.Status.UserInfo.Username
}

// reportedWithin is how long the manager may take to report on an UpgradeHold.
const reportedWithin = 5 * time.Second

// warnUnlessHeld prints a warning unless the manager reports that an UpgradeHold is enforced.
func (w writer) warnUnlessHeld(ctx context.Context, hold *holdv1alpha1.UpgradeHold) {
	var why string
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, reportedWithin, true, func(ctx context.Context) (bool, error) {
		if err := w.client.Get(ctx, client.ObjectKeyFromObject(hold), hold); err != nil {
			return false, err
		}
		why = "operator-status does not report on it: does it run?"
		for _, kind := range []string{holdv1alpha1.ConditionHeld, holdv1alpha1.ConditionEnforced} {
			c := meta.FindStatusCondition(hold.Status.Conditions, kind)
			if c == nil || hold.Status.ObservedGeneration != hold.Generation {
				return false, nil
			}
			if c.Status != metav1.ConditionTrue {
				why = fmt.Sprintf("%s is %s (%s): %s", kind, c.Status, c.Reason, c.Message)
				return c.Reason != holdv1alpha1.ReasonNotIndexed, nil
			}
		}
		why = ""
		return true, nil
	})
	if err != nil || why != "" {
		fmt.Fprintf(w.ErrOut, "Warning: the updates may go on: %s\n", strings.TrimSuffix(why, "."))
	}
}

// deleteHolds deletes the UpgradeHolds with which users hold the updates of an operator.
func (w writer) deleteHolds(ctx context.Context, op operator.Operator) error {
	list := &holdv1alpha1.UpgradeHoldList{}
	switch err := w.client.List(ctx, list); {
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err), apierrors.IsForbidden(err) && hasCondition(op):
		return nil
	case err != nil:
		return fmt.Errorf("listing the UpgradeHolds: %w", err)
	}
	found := false
	for i := range list.Items {
		hold := &list.Items[i]
		if hold.Spec.Operator != op.Reference || hold.IsReported() {
			continue
		}
		if policy := hold.Policy(); policy != "" {
			found = true
			fmt.Fprintf(w.Out, "%s/%s is selected by UpgradeHoldPolicy %s, which goes on. To allow one version: %s, where VERSION is %s\n",
				op.Namespace, op.Name, policy,
				w.here(operator.Command("kubectl annotate upgradehold.operatorstatus.io %s "+v1alpha1.AnnotationAllowUpgrade+"=VERSION", hold.Name)),
				installer.VersionOfUpdate(op.Reference.Installer))
			continue
		}
		if err := w.client.Delete(ctx, hold); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting UpgradeHold %s: %w", hold.Name, err)
		}
		found = true
		w.printf("upgradehold.operatorstatus.io", hold.Name, "deleted")
	}
	if !found && !hasCondition(op) {
		fmt.Fprintf(w.Out, "%s/%s is not held by a user\n", op.Namespace, op.Name)
	}
	return nil
}
