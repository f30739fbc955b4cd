package cli

import (
	"fmt"
	"time"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/kubectl/pkg/cmd/get"

	"github.com/operator-status/operator-status/internal/installer"
	"github.com/operator-status/operator-status/internal/messages"
	"github.com/operator-status/operator-status/internal/operator"
)

func checkCommand(o *options) *cobra.Command {
	print := get.NewGetPrintFlags()
	cmd := &cobra.Command{
		Use:   "check [NAME]...",
		Short: "Check whether operators, or the cluster, may be updated",
		Long: `Check what would hold an update of operators, available or not, and what is broken before it. On OpenShift, also
check which operators do not support the next minor version of the cluster. A pending update is broken if its
CustomResourceDefinitions would make custom resources invalid or unreadable, or no longer serve a version that clients still use.
A Probe whose operator does not exist or has another version is broken: it holds no update.

The exit code is 0 if nothing is held or broken, 2 if an update would be held or takes long, 3 if something is broken, and 1 if the command
fails, or you may not read the objects that it needs.`,
		Example: `  # Before an update of the cluster
  kubectl operator-status check -A

  # The same as JSON
  kubectl operator-status check -A -o json`,
		RunE: func(cmd *cobra.Command, names []string) error {
			cluster, operators, err := o.operatorsOf(cmd.Context(), names, o.installers.Check, o.installers.CheckKinds()...)
			if err != nil {
				return err
			}
			if err := o.addBreaks(cmd.Context(), installer.Values[olm.InstallPlan](cluster), operators); err != nil {
				return err
			}
			if err := o.printCheck(print, operators, o.now()); err != nil {
				return err
			}
			return worst(operators)
		},
	}
	o.addAllNamespaces(cmd)
	print.AddFlags(cmd)
	return cmd
}

// worst returns the exit code for operators, or nil for 0.
func worst(operators []operator.Operator) error {
	code := exit(exitOK)
	for _, op := range operators {
		code = max(code, codeOf(op.Blocked()))
		if len(op.WouldHold) > 0 {
			code = max(code, exitHeld)
		}
		if len(op.Unread) > 0 {
			code = max(code, exitError)
		}
	}
	if code != exitOK {
		return code
	}
	return nil
}

// printCheck prints the result in the format of the flag -o: by default as a table with a row for each blocker, and the
// operators without one last.
func (o *options) printCheck(flags *get.PrintFlags, operators []operator.Operator, now time.Time) error {
	if format := *flags.OutputFormat; format != "" && format != "wide" {
		return o.printOperators(flags, operators, now)
	}
	if len(operators) == 0 {
		return o.printOperators(flags, operators, now)
	}
	table := &metav1.Table{ColumnDefinitions: []metav1.TableColumnDefinition{
		{Name: "Name", Type: "string", Format: "name"},
		{Name: "Version", Type: "string"},
		{Name: "Result", Type: "string"},
		{Name: "Reason", Type: "string"},
		{Name: "Cause", Type: "string"},
	}}
	row := func(op operator.Operator, cells ...any) {
		table.Rows = append(table.Rows, metav1.TableRow{
			Cells:  append([]any{op.Name, none(op.Version)}, cells...),
			Object: runtime.RawExtension{Object: &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: op.Namespace, Name: op.Name}}},
		})
	}
	for _, op := range operators {
		for _, b := range op.Blockers {
			row(op, string(b.Impact), b.Reason, messages.Line(b.Cause))
		}
	}
	counts, undecided := map[operator.Impact]int{}, 0
	for _, op := range operators {
		switch impact := op.Blocked(); {
		case op.Undecided():
			undecided++
			row(op, string(unknown), "", unreadOf(op))
		case impact == "":
			counts[impact]++
			row(op, "Clear", "", "")
		default:
			counts[impact]++
		}
	}
	if err := o.printTable(table, printers.PrintOptions{
		Wide: *flags.OutputFormat == "wide", NoHeaders: *flags.NoHeaders, WithNamespace: o.allNamespaces,
	}); err != nil {
		return err
	}
	fmt.Fprintf(o.ErrOut, "%d clear, %d held, %d broken", counts[""], counts[operator.Held], counts[operator.Broken])
	if n := counts[operator.Waiting]; n > 0 {
		fmt.Fprintf(o.ErrOut, ", %d waiting", n)
	}
	if undecided > 0 {
		fmt.Fprintf(o.ErrOut, ", %d unknown", undecided)
	}
	fmt.Fprintln(o.ErrOut, ". What to do: kubectl operator-status why NAME")
	return nil
}
