package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/olmv0/bridge"
	"github.com/operator-status/operator-status/internal/kube"
	"github.com/operator-status/operator-status/internal/messages"
	"github.com/operator-status/operator-status/internal/operator"
	"github.com/operator-status/operator-status/internal/uninstall"
)

func approveCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "approve NAME",
		Short: "Approve the InstallPlan that an operator is waiting for",
		Long: `Approve the InstallPlan that an operator is waiting for. It may also install other operators of the namespace, which are listed.

An approval does not end a hold: an update may still wait for its Probe or OperatorCondition.`,
		Example: `  # Which plan would be approved, and what does it install?
  kubectl operator-status approve foo --dry-run=client`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, names []string) error { return o.act(cmd, names, approve) },
	}
	cmdutil.AddDryRunFlag(cmd)
	return cmd
}

func holdCommand(o *options) *cobra.Command {
	var message, until string
	cmd := &cobra.Command{
		Use:   "hold NAME",
		Short: "Hold the updates of an operator until they are released",
		Long: `Hold the updates of an operator until they are released, or until a time.

For an operator of OLM, set the override Upgradeable=False in the OperatorCondition of the version that runs, which OLM respects without
operator-status. For any other operator, or with --until, create an UpgradeHold, which needs operator-status on the cluster.
Both take precedence over everything that the operator reports.`,
		Example: `  # No updates before the audit is over
  kubectl operator-status hold foo --message="audit" --until=2026-12-04`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, names []string) error {
			end, err := timeOf(until)
			if err != nil {
				return err
			}
			return o.act(cmd, names, func(ctx context.Context, w writer, op operator.Operator) error { return hold(ctx, w, op, message, end) })
		},
	}
	cmd.Flags().StringVar(&until, "until", "", "When the hold ends: a date, or a time such as 2026-12-04T18:00:00Z. Without it, release ends it.")
	cmd.Flags().StringVarP(&message, "message", "m", "Held with kubectl operator-status hold", "Reason for the hold, as why shows it.")
	cmdutil.AddDryRunFlag(cmd)
	return cmd
}

func releaseCommand(o *options) *cobra.Command {
	var all, undo bool
	cmd := &cobra.Command{
		Use:   "release (NAME | --all [--undo])",
		Short: "Release the updates of an operator that were held with hold, or all updates before an uninstall",
		Long: `Release the updates of an operator: remove the override Upgradeable=False from the OperatorCondition of the version that runs, and
delete the UpgradeHolds of users.

With --all, release every update of the cluster that operator-status holds beside OLM, before it is uninstalled, and list the
Subscriptions whose InstallPlans no controller would approve afterwards. --undo reverts that.`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case undo && !all:
				return errors.New("--undo requires --all")
			case all:
				return cobra.NoArgs(cmd, args)
			default:
				return cobra.ExactArgs(1)(cmd, args)
			}
		},
		RunE: func(cmd *cobra.Command, names []string) error {
			if !all {
				return o.act(cmd, names, release)
			}
			w, err := o.writer(cmd)
			if err != nil {
				return err
			}
			if w.dryRun != "" {
				fmt.Fprintf(o.ErrOut, "Nothing is changed%s. The output of a real run:\n", w.dryRun)
			}
			if undo {
				return uninstall.TakeBack(cmd.Context(), w.client, metav1.Now(), o.Out)
			}
			return uninstall.Release(cmd.Context(), w.client, metav1.Now(), o.Out)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "Release all updates that operator-status holds, in all namespaces.")
	cmd.Flags().BoolVar(&undo, "undo", false, "Revert release --all: operator-status decides again.")
	cmdutil.AddDryRunFlag(cmd)
	return cmd
}

// writer changes objects, or only pretends to.
type writer struct {
	*options

	client client.Client
	dryRun string // printed after an object that was not changed
}

// writer returns a writer for the flag --dry-run.
func (o *options) writer(cmd *cobra.Command) (writer, error) {
	strategy, err := cmdutil.GetDryRunStrategy(cmd)
	if err != nil {
		return writer{}, err
	}
	c, err := o.client()
	if err != nil {
		return writer{}, err
	}
	switch strategy {
	case cmdutil.DryRunClient:
		return writer{o, unsent(c), " (dry run)"}, nil
	case cmdutil.DryRunServer:
		return writer{o, client.NewDryRunClient(c), " (server dry run)"}, nil
	default:
		return writer{o, c, ""}, nil
	}
}

// unsent returns a client that reads, and pretends to write.
func unsent(c client.WithWatch) client.WithWatch {
	return interceptor.NewClient(c, interceptor.Funcs{
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			return nil
		},
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error { return nil },
		Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error { return nil },
	})
}

// act does something to the operators with the given names.
func (o *options) act(cmd *cobra.Command, names []string, do func(context.Context, writer, operator.Operator) error) error {
	w, err := o.writer(cmd)
	if err != nil {
		return err
	}
	operators, err := o.operators(cmd, names)
	if err != nil {
		return err
	}
	for _, op := range operators {
		if err := do(cmd.Context(), w, op); err != nil {
			return err
		}
	}
	return nil
}

// printf prints that an object was changed, as kubectl does.
func (w writer) printf(resource, name, format string, args ...any) {
	fmt.Fprintf(w.Out, "%s/%s %s%s\n", resource, name, messages.Line(fmt.Sprintf(format, args...)), w.dryRun)
}

func approve(ctx context.Context, w writer, op operator.Operator) error {
	if op.Approval == nil {
		return fmt.Errorf("no InstallPlan of %s/%s is waiting for approval: %s", op.Namespace, op.Name, summary(op))
	}
	plan := &olm.InstallPlan{}
	plan.Namespace, plan.Name = op.Namespace, op.Approval.Plan
	if err := kube.Modify(ctx, w.client, plan, fieldOwner, func(plan *olm.InstallPlan) bool {
		waits := bridge.Waits(plan)
		plan.Spec.Approved = true
		return waits
	}); err != nil {
		return fmt.Errorf("approving InstallPlan %s/%s: %w", plan.Namespace, plan.Name, err)
	}
	w.printf("installplan.operators.coreos.com", plan.Name, "approved: it installs %s", strings.Join(plan.Spec.ClusterServiceVersionNames, ", "))
	return nil
}

func hold(ctx context.Context, w writer, op operator.Operator, message string, until *metav1.Time) error {
	if until != nil && op.Reference.Name == "" {
		return fmt.Errorf("%s/%s has no Subscription: it can only be held without --until", op.Namespace, op.Name)
	}
	if until != nil || !hasCondition(op) {
		return w.createHold(ctx, op, message, until)
	}
	override := metav1.Condition{
		Type: operatorsv2.Upgradeable, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonHeldByAdmin, Message: message,
		LastTransitionTime: metav1.Now(),
	}
	return w.override(ctx, op, "held: its updates wait until it is released", "held already", func(condition *operatorsv2.OperatorCondition) bool {
		before := meta.FindStatusCondition(condition.Spec.Overrides, override.Type)
		if before != nil && before.Status == override.Status && before.Reason == override.Reason && before.Message == override.Message {
			return false
		}
		meta.SetStatusCondition(&condition.Spec.Overrides, override)
		return true
	})
}

func release(ctx context.Context, w writer, op operator.Operator) error {
	err := w.deleteHolds(ctx, op)
	if err != nil || !hasCondition(op) {
		return err
	}
	err = w.override(ctx, op, "released", "not changed: no override holds its updates", func(condition *operatorsv2.OperatorCondition) bool {
		before := meta.FindStatusCondition(condition.Spec.Overrides, operatorsv2.Upgradeable)
		if before == nil || before.Status == metav1.ConditionTrue { // Unknown holds, too
			return false
		}
		return meta.RemoveStatusCondition(&condition.Spec.Overrides, operatorsv2.Upgradeable)
	})
	if err != nil {
		return err
	}
	for _, b := range op.Blockers {
		if b.Reason != v1alpha1.ReasonOperatorConditionNotUpgradeable {
			fmt.Fprintf(w.ErrOut, "%s/%s is also %s by %s: see %s\n", op.Namespace, op.Name, strings.ToLower(string(b.Impact)), messages.Line(b.By),
				w.explaining(op))
		}
	}
	return nil
}

// hasCondition reports whether OLM or the built-in loops installed an operator, also without a Subscription: they read its OperatorCondition.
func hasCondition(op operator.Operator) bool {
	return op.Reference.Installer == holdv1alpha1.InstallerOLM || op.Reference.Name == "" && op.Installed != ""
}

// override changes the overrides in the OperatorCondition of an operator. change reports whether it did.
func (w writer) override(ctx context.Context, op operator.Operator, done, unchanged string, change func(*operatorsv2.OperatorCondition) bool) error {
	if op.Installed == "" {
		return fmt.Errorf("operator %s/%s has no OperatorCondition, since nothing is installed", op.Namespace, op.Name)
	}
	condition := &operatorsv2.OperatorCondition{}
	condition.Namespace, condition.Name = op.Namespace, op.Installed
	changed := false
	err := kube.Modify(ctx, w.client, condition, fieldOwner, func(condition *operatorsv2.OperatorCondition) bool {
		condition.Spec.Overrides = slices.Clone(condition.Spec.Overrides)
		changed = change(condition)
		return changed
	})
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("OperatorCondition %s/%s not found: OLM creates it when it installs the operator", op.Namespace, op.Installed)
	case err != nil:
		return fmt.Errorf("changing OperatorCondition %s/%s: %w", op.Namespace, op.Installed, err)
	case !changed:
		done = unchanged
	}
	w.printf("operatorcondition.operators.coreos.com", condition.Name, "%s", done)
	return nil
}

// fieldOwner is the field manager of the user's changes.
const fieldOwner = client.FieldOwner("kubectl-operator_status")
