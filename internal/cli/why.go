package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mitchellh/go-wordwrap"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/internal/installer"
	"github.com/operator-status/operator-status/internal/messages"
	"github.com/operator-status/operator-status/internal/operator"
)

func whyCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "why NAME",
		Short: "Explain what holds or breaks an operator, since when, and what to do",
		Long: `Explain what keeps an operator from running or from being up to date: what is broken first, then what is held.

NAME is the name of a Subscription, package, ClusterServiceVersion or PlatformOperator.

The exit code is 0 if nothing blocks the operator, 2 if an update is held or would be, or takes long, 3 if something is broken, and 1 if the command fails, or
you may not read the objects that it needs.`,
		Example: `  # Why is the operator foo not updated?
  kubectl operator-status why foo -n operators`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, names []string) error {
			cluster, operators, err := o.operatorsOf(cmd.Context(), names, func(c installer.Cluster) []operator.Operator {
				return append(o.installers.Operators(c), o.installers.Orphans(c)...)
			})
			if err != nil {
				return err
			}
			if err := o.addKnownBreaks(cmd.Context(), installer.Values[olm.InstallPlan](cluster), operators); err != nil {
				return err
			}
			for i, op := range operators {
				if i > 0 {
					fmt.Fprintln(o.Out)
				}
				o.explain(op, o.now())
			}
			return worst(operators)
		},
	}
	o.addAllNamespaces(cmd)
	return cmd
}

func codeOf(i operator.Impact) exit {
	switch i {
	case operator.Broken:
		return exitBroken
	case operator.Held, operator.Waiting:
		return exitHeld
	default:
		return exitOK
	}
}

// explain prints the blockers of an operator. It wraps sentences at the width of a terminal, but not commands, which are copied.
func (o *options) explain(op operator.Operator, now time.Time) {
	fmt.Fprintln(o.Out, wrapped(messages.Line(fmt.Sprintf("%s/%s: %s", op.Namespace, op.Name, summary(op))), "", o.width))
	all := slices.Concat(op.Blockers, op.WouldHold, op.Notices)
	for i, b := range all {
		number := ""
		if len(all) > 1 {
			number = fmt.Sprintf("%d. ", i+1)
		}
		fmt.Fprintln(o.Out)
		o.print(wrapped(number+heading(b, now), "", o.width)+"\n", string(b.Impact), len(number))
		fmt.Fprintln(o.Out, wrapped(strings.TrimRight(messages.Line(b.Cause), "."), "  ", o.width))
		for _, s := range b.Steps {
			fmt.Fprintf(o.Out, "  %s:\n    %s\n", s.To, messages.Line(o.here(s.Command)))
		}
	}
}

// heading returns the name of a blocker, how long it has blocked, and the reason of the condition that reports it.
func heading(b operator.Blocker, now time.Time) string {
	out := fmt.Sprintf("%s by %s", b.Impact, messages.Line(b.By))
	if a := age(b.Since, now); a != "" {
		out += ", for " + a
	}
	return out + " (" + messages.Line(b.Reason) + ")"
}

// wrapped indents a text, and breaks it into lines of a width if that is not 0.
func wrapped(text, indent string, width uint) string {
	if width > uint(len(indent)) {
		text = wordwrap.WrapString(text, width-uint(len(indent)))
		text = strings.ReplaceAll(text, "\n", "\n"+indent)
	}
	return indent + text
}

// unreadOf returns a sentence about the kinds that could not be read and may block an operator.
func unreadOf(op operator.Operator) string {
	if len(op.Unread) == 0 {
		return ""
	}
	return "Cannot tell whether anything blocks it without its " + strings.Join(op.Unread, ", ") + "."
}

// summary returns the state of an operator in one sentence.
func summary(op operator.Operator) string {
	var out string
	version := cmp.Or(op.Installed, strings.TrimSpace(op.Name+" "+op.Version))
	switch op.State {
	case operator.Running:
		out = version + " is running"
	case operator.Failed:
		out = version + " has failed"
	case operator.Stopped:
		out = version + " is stopped"
	case operator.Installing:
		out = version + " is being installed"
	case operator.NotInstalled:
		out = "nothing is installed"
	case operator.Unknown:
		out = "whether it runs is unknown"
	}
	switch {
	case op.Update != "" && op.State == operator.NotInstalled:
		out += "; " + op.Update + " is to be installed"
	case op.Update != "":
		out += ", and is to be updated to " + op.Update
	case op.Limited != "":
		out = messages.Line(op.Limited)
	case op.UpToDate == metav1.ConditionTrue:
		out += ", and is up to date"
	case op.UpToDate == metav1.ConditionUnknown && len(op.Blockers) == 0:
		out += "; whether it is up to date is unknown"
	}
	switch {
	case op.Undecided():
		return out + ". " + unreadOf(op)
	case len(op.Blockers) == 0 && len(op.WouldHold) > 0:
		return out + ". Its next update would be held."
	case len(op.Blockers) == 0:
		return out + ". Nothing blocks it."
	case len(op.Blockers) > 1:
		return fmt.Sprintf("%s. %d things block it:", out, len(op.Blockers))
	}
	return out + "."
}
