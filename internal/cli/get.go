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
	"github.com/operator-status/operator-status/internal/messages"
	"github.com/operator-status/operator-status/internal/operator"
)

// kindOperator is the kind of the objects that get prints as JSON or YAML. The cluster has no such kind.
const (
	apiVersion   = "cli.operatorstatus.io/v1alpha1"
	kindOperator = "Operator"
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
			key, now := strings.Join([]string{op.Installer, op.Namespace, op.Name}, "/"), asObject(op).Object
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
	return fmt.Sprintf("no operator, Subscription, package or ClusterServiceVersion %q found in namespace %s: choose another with -n, or -A for all", e.name,
		e.namespace)
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
	out.SetAPIVersion(apiVersion)
	out.SetKind(kindOperator + "List")
	for _, op := range operators {
		out.Items = append(out.Items, asObject(op))
	}
	return out
}

func asObject(op operator.Operator) unstructured.Unstructured {
	object := map[string]any{
		"apiVersion": apiVersion, "kind": kindOperator,
		"metadata": map[string]any{"namespace": op.Namespace, "name": op.Name},
		"state":    string(op.State),
		"upToDate": string(op.UpToDate), "upgradeable": string(op.Upgradeable),
	}
	if op.Approval != nil {
		var installs []any
		for _, name := range op.Approval.Installs {
			installs = append(installs, name)
		}
		object["approval"] = map[string]any{"installPlan": op.Approval.Plan, "installs": installs}
	}
	for field, value := range map[string]string{
		"package": op.Package, "channel": op.Channel, "catalog": op.Catalog, "platformOperator": op.PlatformOperator,
		"clusterServiceVersion": op.Installed, "installer": op.Installer, "version": op.Version, "update": op.Update, "limited": op.Limited, "blocked": string(op.Blocked()),
	} {
		if value != "" {
			object[field] = value
		}
	}
	if len(op.Unread) > 0 {
		unread := []any{}
		for _, kind := range op.Unread {
			unread = append(unread, kind)
		}
		object["unread"] = unread
	}
	for field, all := range map[string][]operator.Blocker{"blockers": op.Blockers, "wouldHold": op.WouldHold, "notices": op.Notices} {
		var blockers []any
		for _, b := range all {
			blockers = append(blockers, blockerObject(b))
		}
		if len(blockers) > 0 {
			object[field] = blockers
		}
	}
	sanitize(object)
	return unstructured.Unstructured{Object: object}
}

// sanitize makes each text in a value safe to show. YAML cannot represent some of the others.
func sanitize(value any) any {
	switch v := value.(type) {
	case string:
		return messages.Line(v)
	case []any:
		for i := range v {
			v[i] = sanitize(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = sanitize(v[key])
		}
	}
	return value
}

func blockerObject(b operator.Blocker) map[string]any {
	out := map[string]any{"impact": string(b.Impact), "by": b.By, "reason": b.Reason, "cause": b.Cause}
	if !b.Since.IsZero() {
		out["since"] = b.Since.UTC().Format(time.RFC3339)
	}
	var steps []any
	for _, s := range b.Steps {
		steps = append(steps, map[string]any{"to": s.To, "command": s.Command})
	}
	if len(steps) > 0 {
		out["steps"] = steps
	}
	return out
}
