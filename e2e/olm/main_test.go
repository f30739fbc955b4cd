// Package olm tests operator-status beside a real OLM, on a cluster with controllers and fake nodes.
package olm

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/e2e-framework/klient/conf"
	"sigs.k8s.io/e2e-framework/pkg/env"
	"sigs.k8s.io/e2e-framework/pkg/envconf"

	"github.com/operator-status/operator-status/internal/testcluster"
)

var (
	environment env.Environment
	cluster     *testcluster.Cluster
	clusterDir  string
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	environment = env.NewWithConfig(envconf.New())
	folder, err := os.MkdirTemp("", "e2e-olm")
	if err != nil {
		panic(err)
	}
	clusterDir = filepath.Join(folder, "cluster")
	environment.Setup(devcluster("up", "--nodes=fake", "--olm", "--dir="+clusterDir), connect(filepath.Join(clusterDir, "kubeconfig")))
	environment.Finish(devcluster("down", "--dir="+clusterDir))
	code := environment.Run(m)
	if err := os.RemoveAll(folder); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	fmt.Println("nodes: fake")
	os.Exit(code)
}

// devcluster runs bin/devcluster.
func devcluster(args ...string) env.Func {
	return func(ctx context.Context, _ *envconf.Config) (context.Context, error) {
		return ctx, testcluster.Devcluster(ctx, args...)
	}
}

// connect installs operator-status, but for its Deployment: the tests run bin/manager themselves.
func connect(kubeconfig string) env.Func {
	return func(ctx context.Context, _ *envconf.Config) (context.Context, error) {
		config, err := conf.New(kubeconfig)
		if err != nil {
			return ctx, fmt.Errorf("reading %s: %w", kubeconfig, err)
		}
		if cluster, err = testcluster.Connect(config, "default"); err == nil {
			cluster = cluster.Audited(clusterDir)
		}
		return ctx, err
	}
}
