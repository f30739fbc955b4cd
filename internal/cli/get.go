package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/kubectl/pkg/cmd/get"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	platformv1alpha1 "github.com/operator-status/operator-status/api/platform/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer"
	"github.com/operator-status/operator-status/internal/inventory"
	"github.com/operator-status/operator-status/internal/operator"
)

func getCommand(o *options) *cobra.Command {
	print, watch := get.NewGetPrintFlags(), false
	cmd := &cobra.Command{
		Use:   "get [NAME]...",
		Short: "List the operators with their state, and what holds or breaks them",
		Example: `  # All operators of the cluster
  kubectl operator-status get -A

  # Those that are not up to date, by name
  kubectl operator-status get -A -o jsonpath='{range .items[?(@.upToDate!="True")]}{.metadata.name}{"\n"}{end}'`,
		RunE: func(cmd *cobra.Command, names []string) error {
			if watch {
				return o.watch(cmd.Context(), print, names)
			}
			operators, err := o.operators(cmd, names)
			if err != nil {
				return err
			}
			if err := o.printOperators(print, operators, o.now()); err != nil || *print.OutputFormat != "" {
				return err
			}
			o.summarize(operators)
			return nil
		},
	}
	o.addAllNamespaces(cmd)
	print.AddFlags(cmd)
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "After listing the operators, watch for changes.")
	return cmd
}

// watch prints operators, and each again when it has changed, until the user interrupts it.
func (o *options) watch(ctx context.Context, flags *get.PrintFlags, names []string) error {
	namespace, err := o.namespace()
	if err != nil {
		return err
	}
	last := map[string]any{}
	err = o.follow(ctx, namespace, func(cluster installer.Cluster) (bool, error) {
		operators, err := o.describe(ctx, &cluster, o.installers.Operators)
		if err == nil {
			operators, err = chosen(operators, names, namespace)
		}
		if err != nil {
			return true, err
		}
		changed := slices.DeleteFunc(operators, func(op operator.Operator) bool {
			key, now := strings.Join([]string{op.Installer, op.Namespace, op.Name}, "/"), inventory.Object(op)
			same := equality.Semantic.DeepEqual(last[key], now)
			last[key] = now
			return same
		})
		if len(changed) == 0 {
			return false, nil
		}
		err = o.printOperators(flags, changed, o.now())
		*flags.NoHeaders = true // they are above
		return err != nil, err
	})
	if ctx.Err() != nil {
		return nil // that is how a watch ends
	}
	return err
}

// operators reads the operators of the chosen namespace, or those with the given names. It prints a warning for
// each kind that could not be read.
func (o *options) operators(cmd *cobra.Command, names []string) ([]operator.Operator, error) {
	_, out, err := o.operatorsOf(cmd.Context(), names, o.installers.Operators)
	return out, err
}

// operatorsOf is like operators, but finds them with by, and may read more kinds. It also returns the objects.
func (o *options) operatorsOf(ctx context.Context, names []string, by func(installer.Cluster) []operator.Operator, more ...installer.Kind,
) (installer.Cluster, []operator.Operator, error) {
	namespace, err := o.namespace()
	if err != nil {
		return installer.Cluster{}, nil, err
	}
	find := func(namespace string) (c installer.Cluster, out []operator.Operator, err error) {
		if c, err = o.read(ctx, namespace, more...); err != nil {
			return c, nil, err
		}
		if out, err = o.describe(ctx, &c, by); err != nil {
			return c, nil, err
		}
		out, err = chosen(out, names, namespace)
		return c, out, err
	}
	c, operators, err := find(namespace)
	if elsewhere := composedIn(c, names); err != nil && elsewhere != "" && elsewhere != namespace && namespace != "" {
		return find(elsewhere)
	}
	return c, operators, err
}

// composedIn returns the namespace of the Subscription of the named PlatformOperator, or empty. PlatformOperators are
// cluster-scoped.
func composedIn(c installer.Cluster, names []string) string {
	for _, p := range installer.Values[platformv1alpha1.PlatformOperator](c) {
		if len(names) == 1 && p.Name == names[0] {
			for _, r := range p.Status.Resources {
				if r.Reference.Kind == v1alpha1.SubscriptionKind {
					return r.Reference.Namespace
				}
			}
		}
	}
	return ""
}

// chosen returns the operators with the given names, or all if names is empty.
func chosen(operators []operator.Operator, names []string, namespace string) ([]operator.Operator, error) {
	if len(names) == 0 {
		return operators, nil
	}
	var out []operator.Operator
	for _, name := range names {
		found := named(operators, name)
		if len(found) == 0 {
			return nil, notFoundError{name, namespace}
		}
		out = append(out, found...)
	}
	return out, nil
}

// warn prints a warning about unread objects, once.
func (o *options) warn(note string) {
	if slices.Contains(o.warned, note) {
		return
	}
	o.warned = append(o.warned, note)
	fmt.Fprintf(o.ErrOut, "Warning: %s; output is incomplete\n", note)
}

// named returns the operators that a user may call by a name.
func named(operators []operator.Operator, name string) []operator.Operator {
	return slices.DeleteFunc(slices.Clone(operators), func(op operator.Operator) bool { return !op.Is(name) })
}

// notFoundError is about a name that no operator of a namespace has, or of any if that is empty.
type notFoundError struct{ name, namespace string }

func (e notFoundError) Error() string {
	if e.namespace == "" {
		return fmt.Sprintf("no operator, Subscription, package or ClusterServiceVersion %q found in any namespace", e.name)
	}
	return fmt.Sprintf("no operator, Subscription, package or ClusterServiceVersion %q found in namespace %s: choose another with -n. "+
		"To list those of all namespaces: kubectl operator-status get -A", e.name, e.namespace)
}

// printOperators prints operators in the format of the flag -o: by default as an overview.
func (o *options) printOperators(flags *get.PrintFlags, operators []operator.Operator, now time.Time) error {
	format := *flags.OutputFormat
	if format != "" && format != "wide" {
		printer, err := flags.ToPrinter()
		if err != nil {
			return err
		}
		return printer.PrintObj(asList(operators), o.Out)
	}
	if len(operators) == 0 {
		fmt.Fprintln(o.ErrOut, "No operators found. List those of all namespaces with -A.")
		return nil
	}
	if operators = worstFirst(operators); format == "wide" {
		o.printOperatorTable(details(operators, now), *flags.NoHeaders, true)
	} else {
		o.printOperatorTable(overview(operators, now), *flags.NoHeaders, false)
	}
	return nil
}

// details returns the rows of the table of operators with all that the overview leaves out.
func details(operators []operator.Operator, now time.Time) [][]string {
	out := [][]string{{
		"NAMESPACE", "NAME", "VERSION", "STATE", "UP-TO-DATE", "BLOCKED", "SINCE", "BY", "UPGRADEABLE", "UPDATE", "PACKAGE", "CHANNEL", "CATALOG",
		"PLATFORM-OPERATOR", "INSTALLER",
	}}
	for _, op := range operators {
		blocked, since, by := "", "", ""
		switch blockers := slices.Concat(op.Blockers, op.WouldHold); {
		case op.Undecided():
			blocked = string(unknown)
		case len(blockers) > 0:
			first := blockers[0]
			blocked, by, since = string(first.Impact), first.By, age(first.Since, now)
			if more := len(blockers) - 1; more > 0 {
				by += fmt.Sprintf(" (and %d more)", more)
			}
		}
		out = append(out, []string{
			op.Namespace, op.Name, none(op.Version), string(op.State), string(op.UpToDate), none(blocked), none(since), none(by),
			none(string(op.Upgradeable)), none(op.Update), none(op.Package), none(op.Channel), none(op.Catalog), none(op.PlatformOperator),
			none(op.Installer),
		})
	}
	return out
}

// none returns a text, or kubectl's placeholder if it is empty.
func none(text string) string { return cmp.Or(text, "<none>") }

// age returns the time since something began, or empty.
func age(since metav1.Time, now time.Time) string {
	if since.IsZero() {
		return ""
	}
	return duration.HumanDuration(now.Sub(since.Time))
}

// asList returns operators for the formats of -o that print fields.
func asList(operators []operator.Operator) *unstructured.UnstructuredList {
	out := &unstructured.UnstructuredList{}
	out.SetAPIVersion(inventory.APIVersion)
	out.SetKind(inventory.KindOperator + "List")
	for _, op := range operators {
		out.Items = append(out.Items, unstructured.Unstructured{Object: inventory.Object(op)})
	}
	return out
}
