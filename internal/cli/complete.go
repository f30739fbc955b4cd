package cli

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/operator-status/operator-status/internal/installer"
)

// completionTimeout is how long a shell waits for names.
const completionTimeout = 5 * time.Second

// completed has the shell complete the names of operators: one, or any number.
func (o *options) completed(cmd *cobra.Command, several bool) *cobra.Command {
	cmd.ValidArgsFunction = func(cmd *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(given) > 0 && !several {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		names, err := o.names(cmd.Context())
		if err != nil {
			cobra.CompErrorln(err.Error())
			return nil, cobra.ShellCompDirectiveError
		}
		names = slices.DeleteFunc(names, func(name string) bool { return slices.Contains(given, name) })
		return names, cobra.ShellCompDirectiveNoFileComp
	}
	return cmd
}

// names returns the names of the objects that ask for operators, sorted. To find operators without one would take too long.
func (o *options) names(ctx context.Context) ([]string, error) {
	o.allOfArchive() // PersistentPreRun does not run
	namespace, err := o.namespace()
	if err != nil {
		return nil, err
	}
	c, err := o.reader()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
	defer cancel()
	named := slices.DeleteFunc(o.installers.Kinds(), func(k installer.Kind) bool { return !k.Named })
	objects, err := readAll(ctx, c, named, namespace)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, object := range objects.Objects {
		out = append(out, object.GetName())
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}
