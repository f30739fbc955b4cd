package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/operator-status/operator-status/internal/installer"
)

// managers returns the kind of the Deployments that operator-status runs in.
func managers() installer.Kind {
	return installer.Kind{
		GroupVersionKind: appsv1.SchemeGroupVersion.WithKind("Deployment"), Plural: "Deployments", Selector: ours,
		AllNamespaces: true, AddToScheme: appsv1.AddToScheme, List: func() installer.List { return &appsv1.DeploymentList{} },
	}
}

func versionCommand(o *options) *cobra.Command {
	clientOnly := false
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the versions of the command line and of operator-status on the cluster",
		Example: `  # Both versions
  kubectl operator-status version

  # That of the command line
  kubectl operator-status version --client`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			fmt.Fprintln(o.Out, "Client Version:", Version)
			if clientOnly {
				return nil
			}
			running, err := o.serverVersions(cmd.Context())
			for _, version := range running {
				fmt.Fprintln(o.Out, "Server Version:", version)
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&clientOnly, "client", false, "If true, prints the version of the command line only, and needs no cluster.")
	return cmd
}

// serverVersions returns the version of each Deployment of operator-status, with its name and how many of its pods are available.
func (o *options) serverVersions(ctx context.Context) ([]string, error) {
	reader, err := o.reader()
	if err != nil {
		return nil, err
	}
	cluster, err := readAll(ctx, reader, []installer.Kind{managers()}, "")
	if err != nil {
		return nil, err
	}
	if len(cluster.Unread) > 0 {
		return nil, errors.New("the version of operator-status on the cluster is unknown: its Deployments cannot be listed")
	}
	var out []string
	for _, d := range installer.Values[appsv1.Deployment](cluster) {
		w, _ := installer.WorkloadOf(&d)
		wanted := int32(1)
		if d.Spec.Replicas != nil {
			wanted = *d.Spec.Replicas
		}
		out = append(out, fmt.Sprintf("%s (Deployment %s/%s: %d of %d pods available)",
			cmp.Or(w.Version(), strings.Join(w.Images, " ")), d.Namespace, d.Name, d.Status.AvailableReplicas, wanted))
	}
	if len(out) == 0 {
		out = append(out, "operator-status is not installed")
	}
	return out, nil
}
