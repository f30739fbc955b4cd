package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/alicebob/miniredis/v2"
	"github.com/spf13/cobra"
)

// argoProgram is the recipe of Argo CD: one program that runs as the component in ARGOCD_BINARY_NAME.
const argoProgram = "argocd"

// argoModule is the module that Argo CD is built from.
const argoModule = "github.com/argoproj/argo-cd/v3"

// argo are the components of Argo CD. Users need not log in.
var argo = []component{argoRedis, argoRepoServer, argoController, argoServer}

// argoRedis is Argo CD's cache.
var argoRedis = component{
	name:   "argocd-redis",
	binary: self,
	ports:  []string{"argocd-redis"},
	args:   func(c *cluster) []string { return []string{"redis", c.at("argocd-redis")} },
	ready: func(ctx context.Context, c *cluster) error {
		connection, err := (&net.Dialer{}).DialContext(ctx, "tcp4", c.at("argocd-redis"))
		if err != nil {
			return err
		}
		return connection.Close()
	},
}

var argoRepoServer = component{
	name:    "argocd-repo-server",
	program: argoProgram,
	ports:   []string{"argocd-repo-server", "argocd-repo-server-metrics"},
	prepare: installArgo,
	args: func(c *cluster) []string {
		return []string{
			"--address=" + loopback, "--port=" + c.port("argocd-repo-server"), "--redis=" + c.at("argocd-redis"),
			"--metrics-address=" + loopback, "--metrics-port=" + c.port("argocd-repo-server-metrics"),
		}
	},
	env: argoEnvironment("argocd-repo-server"),
	ready: func(ctx context.Context, c *cluster) error {
		return c.get(ctx, c.plain("argocd-repo-server-metrics")+"/healthz")
	},
}

var argoController = component{
	name:    "argocd-application-controller",
	program: argoProgram,
	ports:   []string{"argocd-controller-metrics"},
	args: func(c *cluster) []string {
		return []string{
			"--namespace=" + argoNamespace, "--redis=" + c.at("argocd-redis"), "--repo-server=" + c.at("argocd-repo-server"),
			"--metrics-port=" + c.port("argocd-controller-metrics"), // on every interface, which cannot be changed
			"--persist-resource-health",                             // otherwise an Application does not show the health of its objects
		}
	},
	env: argoEnvironment("argocd-application-controller"),
	ready: func(ctx context.Context, c *cluster) error {
		return c.get(ctx, c.plain("argocd-controller-metrics")+"/healthz")
	},
}

var argoServer = component{
	name:    argoServerName,
	program: argoProgram,
	ports:   []string{argoServerName, "argocd-server-metrics"},
	prepare: func(_ context.Context, c *cluster) error {
		return writeWhole(c.dir.path("argocd", "address"), []byte(c.at(argoServerName)+"\n"), 0o600)
	},
	args: func(c *cluster) []string {
		return []string{
			"--namespace=" + argoNamespace, "--redis=" + c.at("argocd-redis"), "--repo-server=" + c.at("argocd-repo-server"),
			"--address=" + loopback, "--port=" + c.port(argoServerName), "--metrics-address=" + loopback, "--metrics-port=" + c.port("argocd-server-metrics"),
			"--disable-auth", "--insecure",
		}
	},
	env:   argoEnvironment(argoServerName),
	ready: func(ctx context.Context, c *cluster) error { return c.get(ctx, c.plain(argoServerName)+"/healthz") },
}

// argoServerName is the name of argoServer and of its port.
const argoServerName = "argocd-server"

// argoNamespace is where Argo CD reads its configuration and Applications.
const argoNamespace = "argocd"

// hasArgo reports whether Argo CD runs in the cluster.
func (c *cluster) hasArgo() bool { return c.state.Ports[argoServerName] != 0 }

// argoEnvironment returns the environment of a component of Argo CD.
func argoEnvironment(name string) func(*cluster) []string {
	return func(c *cluster) []string {
		folder := c.dir.path("argocd")
		return []string{
			"ARGOCD_BINARY_NAME=" + name,
			"HOSTNAME=" + name + "-0",     // a number at its end is that of a shard
			"ARGOCD_FAKE_IN_CLUSTER=true", // https://kubernetes.default.svc is the cluster of the kubeconfig
			"KUBECONFIG=" + c.dir.path("kubeconfig"),
			"ARGOCD_GPG_ENABLED=false",
			"ARGOCD_TLS_DATA_PATH=" + folder, "ARGOCD_SSH_DATA_PATH=" + folder, "ARGOCD_GNUPGHOME=" + folder, "ARGOCD_PLUGINSOCKFILEPATH=" + folder,
			"TMPDIR=" + filepath.Join(folder, "tmp"),
			"PATH=" + filepath.Join(c.builder.root, "bin") + ":/usr/bin:/bin", // git, and kustomize if installed
		}
	}
}

// argoProject permits everything.
const argoProject = `apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata: {name: default, namespace: argocd}
spec:
  sourceRepos: ["*"]
  destinations: [{namespace: "*", server: "*"}]
  clusterResourceWhitelist: [{group: "*", kind: "*"}]
`

// installArgo applies the CustomResourceDefinitions and the configuration of Argo CD's release.
func installArgo(ctx context.Context, c *cluster) error {
	if err := os.MkdirAll(c.dir.path("argocd", "tmp"), 0o700); err != nil {
		return err
	}
	manifests, err := moduleFolder(ctx, filepath.Join(c.builder.root, "hack", "devcluster", argoProgram), argoModule)
	if err != nil {
		return err
	}
	if _, err := c.apply(ctx, []byte("apiVersion: v1\nkind: Namespace\nmetadata: {name: "+argoNamespace+"}\n")); err != nil {
		return err
	}
	for _, folder := range []string{"crds", "base/config"} {
		kubectl := exec.CommandContext(ctx, filepath.Join(c.builder.bin, "kubectl"), "--kubeconfig="+c.dir.path("kubeconfig"), "--namespace="+argoNamespace,
			"apply", "--server-side", "--kustomize", filepath.Join(manifests, "manifests", folder))
		if out, err := kubectl.CombinedOutput(); err != nil {
			return fmt.Errorf("applying %s of Argo CD: %w\n%s", folder, err, out)
		}
	}
	return eventually(ctx, func() error {
		for _, plural := range []string{"applications", "applicationsets", "appprojects"} {
			if err := c.has(ctx, crdResource, "", plural+".argoproj.io", condition("Established")); err != nil {
				return err
			}
		}
		_, err := c.apply(ctx, []byte(argoProject))
		return err
	})
}

// moduleFolder returns the folder of a module that the module in a folder requires.
func moduleFolder(ctx context.Context, folder, module string) (string, error) {
	download := exec.CommandContext(ctx, "go", "mod", "download", "-json", module)
	download.Dir = folder
	download.Env = append(os.Environ(), buildEnvironment...)
	out, err := download.Output()
	if err != nil {
		return "", fmt.Errorf("looking up the folder of %s: %w\n%s", module, err, out)
	}
	var found struct{ Dir string }
	if err := json.Unmarshal(out, &found); err != nil {
		return "", fmt.Errorf("looking up the folder of %s: %w", module, err)
	}
	return found.Dir, nil
}

// redisCommand is the program of argoRedis. Users do not call it.
func redisCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "redis ADDRESS",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			server := miniredis.NewMiniRedis()
			if err := server.StartAddr(args[0]); err != nil {
				return fmt.Errorf("serving a cache: %w", err)
			}
			<-cmd.Context().Done()
			server.Close()
			return nil
		},
	}
}
