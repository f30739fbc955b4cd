package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	platformv1alpha1 "github.com/operator-status/operator-status/api/platform/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer"
	"github.com/operator-status/operator-status/internal/messages"
	"github.com/operator-status/operator-status/internal/operator"
)

const goalUpToDate = "up-to-date"

// goals are the values of the flag --for, with their conditions.
var goals = map[string]func(operator.Operator) bool{
	goalUpToDate:  func(op operator.Operator) bool { return op.UpToDate == metav1.ConditionTrue },
	"ready":       func(op operator.Operator) bool { return op.State == operator.Running },
	"upgradeable": func(op operator.Operator) bool { return op.Upgradeable == metav1.ConditionTrue },
}

func waitCommand(o *options) *cobra.Command {
	var goal string
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "wait NAME --for=(up-to-date|ready|upgradeable)",
		Short: "Wait until an operator is up to date, runs, or may be updated",
		Long: `Wait until an operator is up to date, ready (a version of it runs), or upgradeable (nothing would hold an update). Meanwhile every
change of its state and blockers is printed.

The exit code is 0 if the goal is reached, and 1 after the timeout, or at once if there is no such operator and no PlatformOperator
composes it, or if it is to be up to date and its installer does not know of newer versions.`,
		Example: `  # Approve an update, and wait until it is done
  kubectl operator-status approve foo && kubectl operator-status wait foo --for=up-to-date`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, names []string) error {
			reached := goals[goal]
			if reached == nil {
				return fmt.Errorf("--for=%s is not one of %s", goal, strings.Join(slices.Sorted(maps.Keys(goals)), ", "))
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			return o.wait(ctx, names[0], goal, reached)
		},
	}
	cmd.Flags().StringVar(&goal, "for", "", "Goal to wait for: up-to-date, ready or upgradeable.")
	cmd.Flags().DurationVar(&timeout, "timeout", 5*time.Minute, "Maximum time to wait.")
	_ = cmd.MarkFlagRequired("for") // it fails for unknown flags only
	return cmd
}

// wait reads an operator whenever something in its namespace changes, until it reaches a goal.
func (o *options) wait(ctx context.Context, name, goal string, reached func(operator.Operator) bool) error {
	namespace, err := o.namespace()
	if err != nil {
		return err
	}
	cluster, found, err := o.operatorsOf(ctx, []string{name}, o.installers.Operators)
	switch {
	case err == nil && namespace != "":
		namespace = found[0].Namespace // not that of the kubeconfig, if it is composed by a PlatformOperator
	case errors.As(err, &notFoundError{}):
		composedIn := namespaceComposed(cluster, name)
		if composedIn == "" {
			return err
		}
		if namespace != "" {
			namespace = composedIn
		}
	}
	if goal == goalUpToDate {
		if err := o.reportsUpdates(found); err != nil {
			return err
		}
	}
	last := ""
	err = o.follow(ctx, namespace, func(cluster installer.Cluster) (bool, error) {
		operators, err := o.describe(ctx, &cluster, o.installers.Operators)
		if err != nil {
			return true, err
		}
		operators = named(operators, name)
		if len(operators) > 0 && !slices.ContainsFunc(operators, func(op operator.Operator) bool { return !reached(op) }) {
			for _, op := range operators {
				fmt.Fprintf(o.Out, "operator/%s is %s\n", op.Name, goal)
			}
			return true, nil
		}
		if now := progress(operators, name, namespace); now != last {
			fmt.Fprintln(o.ErrOut, now)
			last = now
		}
		return false, nil
	})
	if ctx.Err() != nil {
		return timedOut(ctx, name, goal, last)
	}
	return err
}

// reportsUpdates returns an error if the installer of an operator does not know of newer versions.
func (o *options) reportsUpdates(operators []operator.Operator) error {
	for _, op := range operators {
		switch op.Reference.Installer {
		case holdv1alpha1.InstallerOLMv1:
			return fmt.Errorf("whether %s/%s is up to date is reported on its ClusterExtension only: %s", op.Namespace, op.Name, o.here(operator.Command(
				"kubectl wait clusterextension.olm.operatorframework.io/%s --for=condition=UpToDate", op.Reference.Name)))
		case holdv1alpha1.InstallerHelm, holdv1alpha1.InstallerWorkload:
			return fmt.Errorf("whether %s/%s is up to date is not known: %s does not report newer versions. Use --for=ready", op.Namespace, op.Name, op.Installer)
		case holdv1alpha1.InstallerOLM:
		}
	}
	return nil
}

// namespaceComposed returns the namespace in which a PlatformOperator composes an operator, which may not exist yet, or "" if none does.
func namespaceComposed(c installer.Cluster, name string) string {
	for _, p := range installer.Values[platformv1alpha1.PlatformOperator](c) {
		if p.Name == name || p.Spec.Package.Name == name {
			return cmp.Or(p.Status.Namespace, p.GetNamespaceToInstallIn())
		}
	}
	return ""
}

func timedOut(ctx context.Context, name, goal, last string) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("timed out waiting for %s to be %s: %s", name, goal, last)
	}
	return fmt.Errorf("interrupted while waiting for %s to be %s", name, goal)
}

// progress returns a line for each operator, with its state and blockers.
func progress(operators []operator.Operator, name, namespace string) string {
	if len(operators) == 0 {
		return notFoundError{name, namespace}.Error()
	}
	var lines []string
	for _, op := range operators {
		parts := []string{fmt.Sprintf("%s/%s: %s", op.Namespace, op.Name, summary(op))}
		for _, b := range op.Blockers {
			parts = append(parts, fmt.Sprintf("%s by %s (%s).", b.Impact, b.By, b.Reason))
		}
		lines = append(lines, messages.Line(strings.Join(parts, " ")))
	}
	return strings.Join(lines, "\n")
}
