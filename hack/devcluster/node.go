package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/operator-status/operator-status/hack/devcluster/node"
)

// realNode is the name of the node that runs pods truly.
const realNode = "real-0"

// nodeInitName is the name of nodeInit.
const nodeInitName = "node"

// nodeInit is the first process of the real node: it keeps the namespaces that the components inside share.
var nodeInit = component{
	name:   nodeInitName,
	binary: self,
	prepare: func(_ context.Context, c *cluster) error {
		if err := os.MkdirAll(c.dir.path("node"), 0o700); err != nil {
			return err
		}
		resolver := "nameserver " + c.network().Node() + "\nsearch cluster.local\n"
		if err := os.WriteFile(c.dir.path("node", node.ResolverFile), []byte(resolver), 0o600); err != nil {
			return err
		}
		return node.CreateCgroups(c.dir.id())
	},
	start: func(_ *cluster, cmd *exec.Cmd) error { return node.Start(cmd) },
	args: func(c *cluster) []string {
		return []string{"node", realNode, c.dir.path("node"), string(c.dir), c.builder.bin}
	},
	joined: func(c *cluster, p process) error { return node.Join(c.dir.id(), c.network(), p.Pid) },
	ready: func(_ context.Context, c *cluster) error {
		_, err := os.Stat(c.inNode(node.ReadyFile))
		return err
	},
}

// nodeCommand is the program of nodeInit. Users do not call it.
func nodeCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "node NAME DATA VISIBLE...",
		Hidden: true,
		Args:   cobra.MinimumNArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			return node.Init(args[0], args[1], args[2:])
		},
	}
}

// self returns the path of this program.
func self() (string, error) { return os.Executable() }

// inside starts a component in the namespaces of the real node.
func inside(c *cluster, cmd *exec.Cmd) error {
	p, ok := c.process(nodeInitName)
	if !ok || !p.alive() {
		return errors.New("the node is not running")
	}
	return node.StartIn(p.Pid, cmd)
}

// nodeEnvironment is the environment of the components that run programs of the node.
func nodeEnvironment(*cluster) []string { return []string{"PATH=" + node.Path} }

// inNode returns the path by which this machine sees a file of the real node.
func (c *cluster) inNode(path string) string {
	p, _ := c.process(nodeInitName)
	return filepath.Join(node.Root(p.Pid), path)
}

// id returns a short name for the network interfaces and cgroups of a cluster. It depends on the folder's path alone, so
// they are found even if the folder was deleted.
func (f folder) id() string {
	sum := sha256.Sum256([]byte(f))
	return hex.EncodeToString(sum[:5])
}

// network returns the addresses of a cluster with a real node.
func (c *cluster) network() node.Network { return node.Network{N: c.state.Network} }

// isReal reports whether the cluster has a real node.
func (c *cluster) isReal() bool { return c.state.Network != 0 }

// sweepNode removes the remains of a real node whose processes have ended: its cgroups and its link.
func (c *cluster) sweepNode() error {
	return errors.Join(node.RemoveCgroups(c.dir.id()), node.Disconnect(c.dir.id()))
}

// leftOfNode reports whether a real node left cgroups or a link.
func (c *cluster) leftOfNode() bool {
	return len(node.Cgroups(c.dir.id())) > 0 || node.Connected(c.dir.id())
}

// waitFor returns nil if a file of the node exists, such as the socket of a component.
func (c *cluster) waitFor(path string) error {
	if _, err := os.Stat(c.inNode(path)); err != nil {
		return fmt.Errorf("%s does not exist yet", path)
	}
	return nil
}

// needsNode reports whether a tier has a real node.
func (t tier) needsNode() bool {
	return slices.ContainsFunc(t.components(), func(c component) bool { return c.name == nodeInitName })
}
