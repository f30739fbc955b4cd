// devcluster runs a real Kubernetes control plane on this machine, built from Go modules alone: no containers, no
// downloaded binaries, no root.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"
)

// exitNotHealthy is what status ends with when the cluster is not running, or not all of it.
const exitNotHealthy = 3

// exitInterrupted is what a shell expects of a program that Ctrl-C ended.
const exitInterrupted = 130

func main() {
	// A reader that goes away (up | head) is no reason to die half-way: writing to it fails, and that is all.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err := command().ExecuteContext(ctx)
	interrupted := ctx.Err() != nil
	stop()

	switch {
	case err == nil:
	case errors.Is(err, errNotHealthy): // status has said it all
		os.Exit(exitNotHealthy)
	case interrupted && errors.Is(err, context.Canceled):
		fmt.Fprintln(os.Stderr, "devcluster: interrupted; nothing is left running")
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
	cmd.PersistentFlags().StringVar(&root, "root", "", "the repository's root (default: the parent of the bin folder this program lies in)")

	for _, sub := range []*cobra.Command{upCommand(&root, &dir), downCommand(&root, &dir), statusCommand(&root, &dir)} {
		sub.Flags().StringVar(&dir, "dir", "", "the cluster's folder (default: bin/devcluster.d in the repository)")
		cmd.AddCommand(sub)
	}
	cmd.AddCommand(buildCommand(&root))
	return cmd
}

func buildCommand(root *string) *cobra.Command {
	var only []string
	cmd := &cobra.Command{
		Use:       "build [binary]...",
		Short:     "Build the control plane's binaries into bin/controlplane; what is up to date stays",
		ValidArgs: recipeNames(),
		RunE: func(cmd *cobra.Command, args []string) error {
			found, err := findRoot(*root)
			if err != nil {
				return err
			}
			return newWorkshop(found, cmd.OutOrStdout()).build(cmd.Context(), append(only, args...), true)
		},
	}
	cmd.Flags().StringSliceVar(&only, "only", nil, "build only these, the same as naming them as arguments")
	return cmd
}

func upCommand(root, dir *string) *cobra.Command {
	var nodes string
	var port int
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start a control plane; returns when it is ready",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkTier(nodes); err != nil {
				return err
			}
			if port < 0 || port > 65535 {
				return fmt.Errorf("--port %d: a port lies between 1 and 65535, or is 0 for any free one", port)
			}
			c, err := locate(*root, *dir, cmd)
			if err != nil {
				return err
			}
			return c.up(cmd.Context(), nodes, port)
		},
	}
	cmd.Flags().StringVar(&nodes, "nodes", "fake", "none: API server and etcd alone; fake: also controllers, scheduler and a fake node")
	cmd.Flags().IntVar(&port, "port", 0, "the API server's port (default: any free one)")
	return cmd
}

func downCommand(root, dir *string) *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "Stop the control plane and remove its folder",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := locate(*root, *dir, cmd)
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
		Short: "Say what runs; exits 0 if all is healthy, 3 if not",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := locate(*root, *dir, cmd)
			if err != nil {
				return err
			}
			return c.status(cmd.Context())
		},
	}
}

// locate says which cluster the flags mean.
func locate(root, dir string, cmd *cobra.Command) (*cluster, error) {
	found, err := findRoot(root)
	if err != nil {
		return nil, err
	}
	if dir == "" {
		dir = filepath.Join(found, "bin", "devcluster.d")
	}
	return newCluster(newWorkshop(found, cmd.OutOrStdout()), dir)
}

// findRoot finds the repository: the one named, or the one whose bin folder holds this program.
func findRoot(named string) (string, error) {
	root := named
	if root == "" {
		self, err := os.Executable()
		if err != nil {
			return "", fmt.Errorf("finding the repository from this program's place: %w", err)
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
