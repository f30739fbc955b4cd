package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/config/policies"
	"github.com/operator-status/operator-status/internal/installer"
	"github.com/operator-status/operator-status/internal/installer/controllers"
	"github.com/operator-status/operator-status/internal/installer/olmv0"
	"github.com/operator-status/operator-status/internal/probepolicy"
)

// appliedKind is the kind of the policies of a cluster.
func appliedKind() installer.Kind {
	return installer.Kind{
		GroupVersionKind: holdv1alpha1.GroupVersion.WithKind(holdv1alpha1.ProbePolicyKind), Plural: "ProbePolicies", ClusterScoped: true,
		AddToScheme: holdv1alpha1.AddToScheme, List: func() installer.List { return &holdv1alpha1.ProbePolicyList{} },
	}
}

// policyKinds are the kinds that tell which policies match a cluster.
func policyKinds() []installer.Kind {
	return append(controllers.Kinds(), appliedKind(), installer.Kind{
		GroupVersionKind: v1alpha1.GroupVersion.WithKind(v1alpha1.ClusterServiceVersionKind), Plural: olmv0.ClusterServiceVersions,
		Selector: olmv0.NotCopied, AllNamespaces: true,
		AddToScheme: v1alpha1.AddToScheme, List: func() installer.List { return &v1alpha1.ClusterServiceVersionList{} },
		Trim: func(o installer.Object) {
			csv := o.(*v1alpha1.ClusterServiceVersion)
			described, strategy := csv.Spec.CustomResourceDefinitions, csv.Spec.InstallStrategy.StrategySpec
			strategy.DeploymentSpecs = nil
			*csv = v1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: csv.Namespace, Name: csv.Name}}
			csv.Spec.CustomResourceDefinitions, csv.Spec.InstallStrategy.StrategySpec = described, strategy
		},
	})
}

func policiesCommand(o *options) *cobra.Command {
	output := ""
	cmd := &cobra.Command{
		Use:   "policies [NAME]...",
		Short: "List policies that hold the updates of this cluster's operators while these are busy",
		Long: `List the policies of operator-status for operators that people run, and which operators of the cluster they are for. A policy holds the
updates of an operator while its custom resources report that something is under way, and needs no annotation by the author.`,
		Example: `  # The policies for the operators of the cluster
  kubectl operator-status policies

  # Read one, and apply it
  kubectl operator-status policies strimzi -o yaml
  kubectl operator-status policies strimzi -o yaml | kubectl apply -f -`,
		RunE: func(cmd *cobra.Command, names []string) error {
			if output != "" && output != "yaml" {
				return fmt.Errorf("output %q is not supported, only yaml", output)
			}
			all, err := policies.All()
			if err != nil {
				return err
			}
			found, err := o.matching(cmd.Context(), all)
			if err == nil && len(names) > 0 {
				found, err = ofNames(found, all, names)
			}
			if err != nil {
				return err
			}
			if output == "yaml" {
				return o.printManifests(found, len(names) > 0)
			}
			o.printPolicies(found)
			return nil
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) (names []string, _ cobra.ShellCompDirective) {
			all, err := policies.All()
			if err != nil {
				return nil, cobra.ShellCompDirectiveError
			}
			for _, p := range all {
				names = append(names, p.Name)
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "Print manifests: yaml. Without names, those that are not applied.")
	return cmd
}

// match is a policy and an operator that it is for.
type match struct {
	policy policies.Policy

	// operator is empty if only the CustomResourceDefinitions were found.
	operator holdv1alpha1.OperatorReference

	// applied is whether the cluster has the policy: Yes, No, or Changed.
	applied string
}

// matching returns the policies for operators of the cluster.
func (o *options) matching(ctx context.Context, all []policies.Policy) ([]match, error) {
	reader, err := o.reader()
	if err != nil {
		return nil, err
	}
	cluster, err := readAll(ctx, reader, policyKinds(), "")
	if err != nil {
		return nil, err
	}
	for _, kind := range cluster.Unread {
		o.warnUnread(kind)
	}
	var out []match
	others := othersOf(cluster)
	for _, p := range all {
		out = append(out, matches(cluster, others, p)...)
	}
	return out, nil
}

// ofNames returns the matches of some policies, and one without an operator for each other that matches none.
func ofNames(found []match, all []policies.Policy, names []string) (out []match, err error) {
	for _, name := range names {
		i := slices.IndexFunc(all, func(p policies.Policy) bool { return p.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("no policy is named %q", name)
		}
		before := len(out)
		for _, m := range found {
			if m.policy.Name == name {
				out = append(out, m)
			}
		}
		if len(out) == before {
			out = append(out, match{policy: all[i], applied: notApplied})
		}
	}
	return out, nil
}

// other is an operator that OLM did not install.
type other struct {
	probepolicy.Operator

	reference holdv1alpha1.OperatorReference
}

// othersOf returns the operators of a cluster that OLM did not install. Policies do not apply to operands of others.
func othersOf(cluster installer.Cluster) (out []other) {
	for _, c := range controllers.In(cluster) {
		of := controllers.Owner(c.Workload)
		if !probepolicy.IsPart(of, c.Workload) {
			continue
		}
		i := slices.IndexFunc(out, func(o other) bool { return o.reference == of })
		if i < 0 {
			i, out = len(out), append(out, other{probepolicy.Operator{Installer: of.Installer, Namespace: of.Namespace}, of})
		}
		out[i].Definitions = append(out[i].Definitions, c.Definitions...)
	}
	return out
}

// matches returns the operators that a policy is for.
func matches(cluster installer.Cluster, others []other, p policies.Policy) (out []match) {
	applied, served := appliedPolicy(cluster, p), servedOf(cluster, p)
	for _, csv := range installer.Values[v1alpha1.ClusterServiceVersion](cluster) {
		if len(probepolicy.Resources(probepolicy.OfCSV(&csv, nil, probepolicy.Unowned(&csv, served)), &p.ProbePolicy)) > 0 {
			out = append(out, match{p, holdv1alpha1.SubscribedOperator(csv.Namespace, csv.Name), applied})
		}
	}
	for _, o := range others {
		if len(probepolicy.Resources(o.Operator, &p.ProbePolicy)) > 0 {
			out = append(out, match{p, o.reference, applied})
		}
	}
	if len(out) == 0 && len(served) > 0 {
		out = append(out, match{policy: p, applied: applied})
	}
	return out
}

// servedOf returns the names of the CustomResourceDefinitions of a policy that a cluster has.
func servedOf(cluster installer.Cluster, p policies.Policy) (out []string) {
	named := probepolicy.DefinitionsIn([]holdv1alpha1.ProbePolicy{p.ProbePolicy})
	for _, crd := range installer.Values[metav1.PartialObjectMetadata](cluster) {
		if slices.Contains(named, crd.Name) {
			out = append(out, crd.Name)
		}
	}
	return out
}

// Values of the column APPLIED.
const (
	isApplied  = "Yes"
	notApplied = "No"
	isChanged  = "Changed"
)

// appliedPolicy returns whether a cluster has a policy.
func appliedPolicy(cluster installer.Cluster, p policies.Policy) string {
	for _, a := range installer.Values[holdv1alpha1.ProbePolicy](cluster) {
		switch {
		case a.Name != p.Name:
		case equality.Semantic.DeepEqual(a.Spec, p.Spec):
			return isApplied
		default:
			return isChanged
		}
	}
	return notApplied
}

// printPolicies prints the policies and their operators, and how to apply them.
func (o *options) printPolicies(found []match) {
	if len(found) == 0 {
		fmt.Fprintln(o.ErrOut, "The cluster has no CustomResourceDefinition that a policy is for.")
		return
	}
	rows := [][]string{{"POLICY", "NAMESPACE", "OPERATOR", "INSTALLER", "APPLIED"}}
	var todo []string
	for _, m := range found {
		rows = append(rows, []string{
			m.policy.Name, none(m.operator.Namespace), none(m.operator.Name), none(string(m.operator.Installer)), m.applied,
		})
		if m.isTodo() {
			todo = append(todo, m.policy.Name)
		}
	}
	o.printTable(rows, int(o.width))
	if todo = slices.Compact(todo); len(todo) > 0 {
		fmt.Fprintf(o.ErrOut, "To apply: %s | %s\n",
			o.here("kubectl operator-status policies "+strings.Join(todo, " ")+" -o yaml"), o.here("kubectl apply -f -"))
	}
}

// isTodo reports whether the policy is for an operator, and not applied.
func (m match) isTodo() bool { return m.applied == notApplied && m.operator.Name != "" }

// printManifests prints the manifests, each once: those that are not applied, or all.
func (o *options) printManifests(found []match, all bool) error {
	var out []string
	for _, m := range found {
		if (all || m.isTodo()) && !slices.Contains(out, m.policy.Manifest) {
			out = append(out, m.policy.Manifest)
		}
	}
	if _, err := fmt.Fprint(o.Out, strings.Join(out, "---\n")); err != nil {
		return fmt.Errorf("printing manifests: %w", err)
	}
	return nil
}
