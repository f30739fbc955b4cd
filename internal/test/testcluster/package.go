package testcluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/e2e-framework/klient/conf"
	"sigs.k8s.io/e2e-framework/pkg/env"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
)

// OnRealNodes is OnDevcluster on nodes whose pods truly run. Without E2E_NODES=real it runs no test.
func OnRealNodes(m *testing.M, set func(c *Cluster, folder string), flags ...string) int {
	if os.Getenv("E2E_NODES") != "real" {
		fmt.Println("skipped: E2E_NODES=real runs this suite, on nodes that need root, containerd and runc")
		return 0
	}
	return OnDevcluster(m, "", set, append([]string{"--nodes=real"}, flags...)...)
}

// OnDevcluster runs the tests of a package on a new devcluster with fake nodes and returns the exit code. It installs a
// folder of config without its Deployments: the tests run bin/manager. If config is empty it installs nothing. It passes the cluster and its folder to set.
func OnDevcluster(m *testing.M, config string, set func(c *Cluster, folder string), flags ...string) int {
	ctrl.SetLogger(logr.Discard())
	temporary, err := os.MkdirTemp("", "e2e")
	if err != nil {
		panic(err)
	}
	folder := filepath.Join(temporary, "cluster")
	environment := env.NewWithConfig(envconf.New())
	environment.Setup(func(ctx context.Context, _ *envconf.Config) (context.Context, error) {
		if err := Devcluster(ctx, append([]string{"up", "--nodes=fake", "--dir=" + folder}, flags...)...); err != nil {
			return ctx, err
		}
		rest, err := conf.New(filepath.Join(folder, "kubeconfig"))
		if err != nil {
			return ctx, fmt.Errorf("reading the devcluster's kubeconfig: %w", err)
		}
		c, err := Attach(rest)
		if err == nil && config != "" {
			err = c.install(config)
		}
		if err == nil {
			set(c.Audited(folder), folder)
		}
		return ctx, err
	})
	environment.Finish(func(ctx context.Context, _ *envconf.Config) (context.Context, error) {
		return ctx, Devcluster(ctx, "down", "--dir="+folder)
	})
	code := environment.Run(m)
	PrintLogs()
	if err := os.RemoveAll(temporary); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	fmt.Println("nodes:", tierOf(flags))
	return code
}

// Up starts a devcluster with fake nodes, beside that of the package, for a test. It returns the cluster and its folder.
func Up(t testing.TB, flags ...string) (c *Cluster, folder string) {
	t.Helper()
	folder = filepath.Join(t.TempDir(), "cluster")
	if err := Devcluster(t.Context(), append([]string{"up", "--nodes=fake", "--dir=" + folder}, flags...)...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := Devcluster(context.Background(), "down", "--dir="+folder); err != nil {
			t.Error(err)
		}
	})
	config, err := conf.New(filepath.Join(folder, "kubeconfig"))
	if err == nil {
		c, err = Attach(config)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c.Audited(folder), folder
}

// tierOf returns the nodes that the flags of devcluster select.
func tierOf(flags []string) string {
	for _, f := range flags {
		if tier, ok := strings.CutPrefix(f, "--nodes="); ok {
			return tier
		}
	}
	return "fake"
}
