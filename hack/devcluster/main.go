// Command devcluster runs a real Kubernetes control plane on this machine. It is built from Go modules only: no
// containers, no downloaded binaries, no root. Only a node that runs pods truly needs root and a container runtime.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"
)

// exitNotHealthy is the exit code of status if a component is not running or not healthy.
const exitNotHealthy = 3

// exitInterrupted is the exit code that shells expect of a program that was interrupted by Ctrl-C.
const exitInterrupted = 130

func main() {
	// Do not exit half-way if the reader exits (up | head): writes to it fail, and nothing else.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err := command().ExecuteContext(ctx)
	interrupted := ctx.Err() != nil
	stop()

	switch {
	case err == nil:
	case errors.Is(err, errNotHealthy): // status has printed the details
		os.Exit(exitNotHealthy)
	case interrupted && errors.Is(err, context.Canceled):
		fmt.Fprintln(os.Stderr, "devcluster: interrupted; nothing that was being started is left running")
		os.Exit(exitInterrupted)
	default:
		fmt.Fprintln(os.Stderr, "devcluster:", err)
		os.Exit(1)
	}
}

func command() *cobra.Command {
	var root, dir string
	cmd := &cobra.Command{
		Use:           "devcluster",
		Short:         "A real local Kubernetes control plane, built from Go modules alone",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	cmd.CompletionOptions.DisableDefaultCmd = true
	cmd.PersistentFlags().StringVar(&root, "root", "", "the repository's root (default: the parent of the bin folder of this program)")

	for _, sub := range []*cobra.Command{
		upCommand(&root, &dir), downCommand(&root, &dir), statusCommand(&root, &dir), catalogCommand(&root, &dir), fakeNodeCommand(&root, &dir),
	} {
		sub.Flags().StringVar(&dir, "dir", "", "the cluster's folder (default: bin/devcluster.d in the repository)")
		cmd.AddCommand(sub)
	}
	cmd.AddCommand(buildCommand(&root), nodeCommand(), registryCommand(), gatewayCommand(), redisCommand())
	return cmd
}

func buildCommand(root *string) *cobra.Command {
	var only, extras []string
	var olm, argocd bool
	var nodes string
	cmd := &cobra.Command{
		Use:       "build [binary]...",
		Short:     "Build the control plane's binaries into bin/controlplane, except those that are up to date",
		ValidArgs: recipeNames(),
		RunE: func(cmd *cobra.Command, args []string) error {
			found, err := findRoot(*root)
			if err != nil {
				return err
			}
			names := append(only, args...)
			if _, err := chooseTier(nodes, false, false); err != nil {
				return err
			}
			if olm {
				extras = append(extras, forOLM)
			}
			if argocd {
				extras = append(extras, forArgo)
			}
			if nodes == "real" {
				extras = append(extras, forNodes)
			}
			if len(extras) > 0 && len(names) > 0 {
				return errors.New("--olm, --argocd and --nodes=real build all required binaries: leave them out, or name no binary")
			}
			if len(extras) > 0 {
				names = recipesFor(extras...)
			}
			return newBuilder(found, cmd.OutOrStdout()).build(cmd.Context(), names, true)
		},
	}
	cmd.Flags().BoolVar(&olm, "olm", false, "also build the binaries for up --olm and catalog: olm, catalog and opm")
	cmd.Flags().BoolVar(&argocd, "argocd", false, "also build the binaries for up --argocd")
	cmd.Flags().StringVar(&nodes, "nodes", "fake",
		"real: also build the binaries for up --nodes=real: kubelet, kube-proxy, coredns and pause, and with --olm those that OLM runs in pods")
	cmd.Flags().StringSliceVar(&only, "only", nil, "build only these, the same as naming them as arguments")
	return cmd
}

func upCommand(root, dir *string) *cobra.Command {
	var nodes string
	var olm, argocd bool
	var port int
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start a control plane; returns when it is ready",
		Long: `Start a control plane; returns when it is ready. The nodes are of one of these kinds:

  none  API server and etcd alone
  fake  also controllers, scheduler and a node that only claims to run pods
  real  a node that runs pods truly: kubelet, kube-proxy, CoreDNS, and the distribution's containerd, runc and CNI
        plugins. It needs root, and cgroups

Pods of a real node use images from a registry of the cluster: push them to the address that is printed, which is also
in registry/address in the cluster's folder, and use the same address in pods. Pods reach each other, Services and this
machine, and no other network; this machine reaches pods and Services by their addresses. The node has namespaces of its
own, so that clusters can run side by side, and nothing of the machine changes but a network interface with a route, and
cgroups, until "devcluster down". Kernel modules that were loaded stay.

With --olm Operator Lifecycle Manager runs as processes, not in pods. CatalogSources need spec.address, such as that of
"devcluster catalog". Only with a real node they can have an image, and bundles are unpacked from images.

With --argocd Argo CD runs as processes, too. Its API is at the address that is printed, which is also in argocd/address in
the cluster's folder, and takes everybody for an admin. Its user interface is no part of its module. Applications in the
namespace argocd sync from a local repository with "repoURL: file:///its/folder".`,
		Example: `  devcluster up --nodes=real --dir=bin/try
  crane push image.tar $(cat bin/try/registry/address)/mine:v1`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			tier, err := chooseTier(nodes, olm, argocd)
			if err != nil {
				return err
			}
			if port < 0 || port > 65535 {
				return fmt.Errorf("--port %d: a port lies between 1 and 65535, or is 0 for any free one", port)
			}
			c, err := locate(*root, *dir, cmd.OutOrStdout())
			if err != nil {
				return err
			}
			return c.up(cmd.Context(), tier, port)
		},
	}
	cmd.Flags().StringVar(&nodes, "nodes", "fake", "none, fake or real: see above")
	cmd.Flags().BoolVar(&olm, "olm", false, "run Operator Lifecycle Manager too (some minutes more to build, once)")
	cmd.Flags().BoolVar(&argocd, "argocd", false, "run Argo CD too (some minutes more to build, once)")
	cmd.Flags().IntVar(&port, "port", 0, "the API server's port (default: any free one)")
	return cmd
}

func downCommand(root, dir *string) *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "Stop the control plane and remove its folder",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := locate(*root, *dir, cmd.OutOrStdout())
			if err != nil {
				return err
			}
			return c.down(cmd.Context())
		},
	}
}

func statusCommand(root, dir *string) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Print the running components; exits 0 if all are healthy, 3 if not",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := locate(*root, *dir, cmd.OutOrStdout())
			if err != nil {
				return err
			}
			return c.status(cmd.Context())
		},
	}
}

func catalogCommand(root, dir *string) *cobra.Command {
	var stop bool
	cmd := &cobra.Command{
		Use:   "catalog NAME FOLDER",
		Short: "Serve a file-based catalog; returns when it is served",
		Long: `Serve the file-based catalog in FOLDER with opm, beside a control plane that is up, and print its address: a
CatalogSource names it in spec.address. Called again with the same NAME it serves the current content of FOLDER, at the same
address; if opm cannot read the new content, the old one is still served. The address is also in catalogs/NAME/address in the
cluster's folder. "devcluster down" stops it.`,
		Example: `  devcluster catalog --dir=bin/try things ./catalog
  devcluster catalog --dir=bin/try --stop things`,
		Args: func(_ *cobra.Command, args []string) error {
			if stop && len(args) == 1 || !stop && len(args) == 2 {
				return nil
			}
			return errors.New("catalog takes a NAME and a FOLDER, or --stop and a NAME")
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := locate(*root, *dir, cmd.ErrOrStderr()) // only the address is written to stdout
			if err != nil {
				return err
			}
			if stop {
				return c.stopCatalog(cmd.Context(), args[0])
			}
			at, err := c.serveCatalog(cmd.Context(), args[0], args[1])
			if err == nil {
				fmt.Fprintln(cmd.OutOrStdout(), at)
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&stop, "stop", false, "serve it no longer; served again, it has the same address")
	return cmd
}

// locate returns the cluster that the flags select.
func locate(root, dir string, out io.Writer) (*cluster, error) {
	found, err := findRoot(root)
	if err != nil {
		return nil, err
	}
	if dir == "" {
		dir = filepath.Join(found, "bin", "devcluster.d")
	}
	return newCluster(newBuilder(found, out), dir)
}

// findRoot returns the root of the repository: the named one, or the one whose bin folder contains this program.
func findRoot(named string) (string, error) {
	root := named
	if root == "" {
		self, err := os.Executable()
		if err != nil {
			return "", fmt.Errorf("finding the repository from the path of this program: %w", err)
		}
		if resolved, err := filepath.EvalSymlinks(self); err == nil {
			self = resolved
		}
		root = filepath.Dir(filepath.Dir(self))
	}
	root, err := filepath.Abs(root)
	if err != nil {
		return "", fmt.Errorf("finding the repository at %s: %w", named, err)
	}
	if _, err := os.Stat(filepath.Join(root, "hack", "devcluster", "go.mod")); err != nil {
		return "", fmt.Errorf("%s is not the repository's root (it has no hack/devcluster): name it with --root", root)
	}
	return root, nil
}
