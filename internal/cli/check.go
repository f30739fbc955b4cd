package cli

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/spf13/cobra"
	"k8s.io/kubectl/pkg/cmd/get"

	"github.com/operator-status/operator-status/internal/gate"
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
			lacks := len(names) == 0 && o.lacksObjects()
			if err := o.printCheck(print, operators, lacks, o.now()); err != nil {
				return err
			}
			if err := worst(operators); err != nil || !lacks {
				return err
			}
			return exit(exitError)
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

// lacksObjects reports whether the archive has objects that cannot be read, of a kind that describes operators. A warning has been printed.
func (o *options) lacksObjects() bool {
	return o.opened != nil && slices.ContainsFunc(o.installers.Kinds(), func(k installer.Kind) bool { return o.opened.Incomplete(k.GroupVersionKind) })
}

// printCheck prints the result in the format of the flag -o: by default whether updates are blocked, and a row for each blocker, the worst
// first. lacks is true if there may be more operators.
func (o *options) printCheck(flags *get.PrintFlags, operators []operator.Operator, lacks bool, now time.Time) error {
	format, noHeaders := *flags.OutputFormat, *flags.NoHeaders
	if format != "" && format != "wide" || len(operators) == 0 {
		return o.printOperators(flags, operators, now)
	}
	operators = sortedBy(operators, resultOf)
	if !noHeaders {
		fmt.Fprintln(o.Out, verdict(operators, lacks))
	}
	results := checked(operators, now, format == "wide")
	o.printOperatorTable(results, noHeaders, format == "wide")
	if worst := operators[0]; resultOf(worst) != allClear {
		fmt.Fprintln(o.ErrOut, messages.Line("What to do: "+o.explaining(worst)))
	}
	return nil
}

// resultOf returns the worst impact of the blockers of an operator's updates, or that nothing blocks them.
func resultOf(op operator.Operator) status {
	if op.Undecided() {
		return unknown
	}
	return cmp.Or(status(op.Blocked()), allClear)
}

// verdict answers whether operators may be updated, with counts. The worst is first. lacks is true if there may be more.
func verdict(operators []operator.Operator, lacks bool) string {
	answer := "No update is blocked"
	switch result := resultOf(operators[0]); {
	case result == unknown, result == allClear && lacks:
		answer = "Cannot tell whether updates are blocked"
	case result != allClear:
		answer = "Updates are blocked"
	}
	return answer + ": " + counted(operators, resultOf)
}

// checked returns the rows of the table of results: one for each blocker and notice, and for each operator without any. A wide one has reasons and
// the objects that block.
func checked(operators []operator.Operator, now time.Time, wide bool) [][]string {
	out := [][]string{{"NAMESPACE", "NAME", "VERSION", "RESULT", "FOR"}}
	if wide {
		out[0] = append(out[0], "REASON", "BY")
	}
	out[0] = append(out[0], "CAUSE")
	for _, op := range operators {
		blockers := slices.Concat(op.Blockers, op.Notices)
		if len(blockers) == 0 || op.Undecided() {
			blockers = slices.Insert(blockers, 0, operator.Blocker{Impact: operator.Impact(resultOf(op)), Cause: unreadOf(op)})
		}
		for _, b := range blockers {
			row := []string{op.Namespace, op.Name, versions(op), string(b.Impact), age(b.Since, now)}
			if wide {
				row = append(row, b.Reason, b.By)
			}
			out = append(out, append(row, gate.Gist(b.Cause, op.Update, b.By)))
		}
	}
	return out
}
