package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/operator-status/operator-status/internal/messages"
	"github.com/operator-status/operator-status/internal/operator"
)

func treeCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "tree NAME",
		Short: "Show the objects that an operator consists of, and their state",
		Long: `Show the objects that an operator consists of: its PlatformOperator, Subscription, InstallPlan, ClusterServiceVersions, Deployments and
Probe, and the custom resources that block an update. Healthy objects are counted if there may be many. If OLM did not install the operator:
its workloads, the CustomResourceDefinitions that they serve, its Probes and UpgradeHolds.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, names []string) error {
			cluster, operators, err := o.operatorsOf(cmd.Context(), names, o.installers.Operators, o.installers.TreeKinds()...)
			if err != nil {
				return err
			}
			tree := o.installers.Trees(cluster)
			for i, op := range operators {
				if i > 0 {
					fmt.Fprintln(o.Out)
				}
				o.printTree(tree(op))
			}
			return nil
		},
	}
	o.addAllNamespaces(cmd)
	return cmd
}

// printTree prints a tree as a table whose first column has its branches.
func (o *options) printTree(root operator.Node) {
	header := [][]string{{"NAME", "STATE", "MESSAGE"}}
	o.printTable(branches(header, root, "", ""), int(o.width))
}

// branches appends a row for a node and for each below it. first is the prefix of its name, and rest of those below.
func branches(rows [][]string, n operator.Node, first, rest string) [][]string {
	rows = append(rows, []string{first + messages.Line(n.Name), messages.Line(n.State), messages.Line(n.Message)})
	for i, child := range n.Children {
		if i == len(n.Children)-1 {
			rows = branches(rows, child, rest+"└── ", rest+"    ")
		} else {
			rows = branches(rows, child, rest+"├── ", rest+"│   ")
		}
	}
	return rows
}
