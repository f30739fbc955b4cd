// Package cli is the command line of operator-status. It reads statuses with the permissions of its user, on a cluster
// with OLM alone as on one with operator-status.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/text/runes"
	"golang.org/x/text/transform"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/internal/archive"
	"github.com/operator-status/operator-status/internal/installer"
	"github.com/operator-status/operator-status/internal/inventory"
	"github.com/operator-status/operator-status/internal/messages"
)

// Version of the program, set by the build.
var Version = "0.0.0-dev"

// Exit codes. Like those of kubectl, 1 is an error of the command itself.
const (
	exitOK     = 0
	exitError  = 1
	exitHeld   = 2
	exitBroken = 3
)

// exit is an error that only carries an exit code: the result has been printed.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// Run runs the command line and returns its exit code.
func Run(args []string, streams genericiooptions.IOStreams) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	width, colored := columns(streams.Out), terminal(streams.Out)
	streams.Out, streams.ErrOut = safe(streams.Out), safe(streams.ErrOut)
	root := command(inventory.Installers, streams, width, colored)
	root.SetArgs(args)
	return exitCode(root.ExecuteContext(ctx), streams.ErrOut)
}

// exitCode returns the exit code for the result of a command, and prints its error.
func exitCode(err error, to io.Writer) int {
	var code exit
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &code):
		return int(code)
	default:
		fmt.Fprintf(to, "error: %v\n", err)
		return exitError
	}
}

// options is the state that all commands share.
type options struct {
	genericiooptions.IOStreams

	installers installer.Installers

	width    uint      // columns of the terminal that is printed to, or 0
	terminal io.Writer // for colors, or nil if there are none

	flags         *genericclioptions.ConfigFlags
	allNamespaces bool
	from          []string // archives to read instead of a cluster

	connected  client.WithWatch // once client has been called
	discovered *discovering     // once reader has been called
	opened     *archive.Archive // as well
	warned     []string         // notes of the warnings that were printed
}

// safe returns a writer that replaces unsafe characters: the output quotes statuses and archives, whose authors may have
// fewer rights than their readers. No command prints anything but text.
func safe(out io.Writer) io.Writer { return transform.NewWriter(out, runes.Map(messages.Safe)) }

func command(installers installer.Installers, streams genericiooptions.IOStreams, width uint, terminal io.Writer) *cobra.Command {
	o := &options{IOStreams: streams, installers: installers, width: width, terminal: terminal, flags: genericclioptions.NewConfigFlags(true)}
	root := &cobra.Command{
		Use:   "kubectl-operator_status", // which completion is for
		Short: "Show whether operators run and are up to date, and what blocks them",
		Long: `Show whether the operators of a cluster run and are up to date, what holds or breaks them, since when, and what to do.

It reads the statuses that OLM and operator-status report, with your own permissions, and works without operator-status on the cluster.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       Version,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl operator-status"},
	}
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.ErrOut)
	o.flags.AddFlags(root.PersistentFlags())
	root.PersistentFlags().StringArrayVar(&o.from, "from", nil,
		"Archive to read instead of a cluster: the output of gather or must-gather, or any folder, tar or zip file with manifests. Of an object "+
			"in several archives, that of the last one counts.")
	root.PersistentPreRun = func(*cobra.Command, []string) { o.allOfArchive() }
	for _, one := range []*cobra.Command{whyCommand(o), treeCommand(o), approveCommand(o), holdCommand(o), releaseCommand(o), waitCommand(o)} {
		root.AddCommand(o.completed(one, false))
	}
	root.AddCommand(o.completed(getCommand(o), true), o.completed(checkCommand(o), true), policiesCommand(o), gatherCommand(o), versionCommand(o))
	root.AddCommand(installCommand(o))
	root.AddCommand(o.completed(previewCommand(o), false))
	return root
}

// allOfArchive selects all namespaces of an archive by default: the namespace of the kubeconfig is one of another cluster.
func (o *options) allOfArchive() {
	if len(o.from) > 0 && *o.flags.Namespace == "" {
		o.allNamespaces = true
	}
}

// addAllNamespaces adds the flag -A.
func (o *options) addAllNamespaces(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&o.allNamespaces, "all-namespaces", "A", o.allNamespaces, "If present, list operators across all namespaces.")
}

// namespace returns the namespace to read, or empty for all.
func (o *options) namespace() (string, error) {
	if o.allNamespaces {
		return "", nil
	}
	namespace, _, err := o.flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return "", fmt.Errorf("reading the namespace of the kubeconfig: %w", err)
	}
	return namespace, nil
}
