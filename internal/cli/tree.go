package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/printers"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/internal/inventory"
	"github.com/operator-status/operator-status/internal/messages"
)

func treeCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "tree NAME",
		Short: "Show the objects that an operator consists of, and their state",
		Long: `Show the objects that an operator consists of: its PlatformOperator, Subscription, InstallPlan, ClusterServiceVersions, Deployments and
Probe, and the custom resources that block an update. Healthy objects are counted if there may be many.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, names []string) error {
			cluster, operators, err := o.operatorsOf(cmd.Context(), names, inventory.Operators)
			if err != nil {
				return err
			}
			for i, op := range operators {
				if i > 0 {
					fmt.Fprintln(o.Out)
				}
				deployments, err := o.deployments(cmd.Context(), op.Namespace)
				if err != nil {
					return err
				}
				if err := o.printTree(inventory.Tree(cluster, deployments, op)); err != nil {
					return err
				}
			}
			return nil
		},
	}
	o.addAllNamespaces(cmd)
	return cmd
}

// deployments reads the Deployments of the ClusterServiceVersions in a namespace. It prints a warning if the user may not.
func (o *options) deployments(ctx context.Context, namespace string) ([]appsv1.Deployment, error) {
	c, err := o.reader()
	if err != nil {
		return nil, err
	}
	list := &appsv1.DeploymentList{}
	err = c.List(ctx, list, client.InNamespace(namespace), selecting("olm.owner"))
	switch {
	case isUnread(err):
		o.warnUnread("Deployments")
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("listing Deployments: %w", err)
	}
	return list.Items, nil
}

// printTree prints a tree as a table whose first column has its branches.
func (o *options) printTree(root inventory.Node) error {
	table := &metav1.Table{ColumnDefinitions: []metav1.TableColumnDefinition{
		{Name: "Name", Type: "string"}, {Name: "State", Type: "string"}, {Name: "Message", Type: "string"},
	}}
	addBranch(table, root, "", "")
	return o.printTable(table, printers.PrintOptions{})
}

// addBranch adds a row for a node and for each below it. first is the prefix of its name, and rest of those below.
func addBranch(table *metav1.Table, n inventory.Node, first, rest string) {
	table.Rows = append(table.Rows, metav1.TableRow{Cells: []any{first + n.Name, n.State, messages.Line(n.Message)}})
	for i, child := range n.Children {
		if i == len(n.Children)-1 {
			addBranch(table, child, rest+"└── ", rest+"    ")
		} else {
			addBranch(table, child, rest+"├── ", rest+"│   ")
		}
	}
}
