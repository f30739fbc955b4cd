// Package e2e tests operator-status on a cluster with controllers and nodes. By default it starts one with fake nodes;
// E2E_NODES selects another kind of nodes, and E2E_KUBECONFIG uses an existing cluster instead.
package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/e2e-framework/klient/conf"
	"sigs.k8s.io/e2e-framework/pkg/env"
	"sigs.k8s.io/e2e-framework/pkg/envconf"

	"github.com/operator-status/operator-status/internal/test/testcluster"
)

var (
	environment env.Environment
	cluster     *testcluster.Cluster
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	environment = env.NewWithConfig(envconf.New())
	folder, err := os.MkdirTemp("", "e2e")
	if err != nil {
		panic(err)
	}
	tier := "of the cluster in E2E_KUBECONFIG"
	kubeconfig := os.Getenv("E2E_KUBECONFIG")
	if kubeconfig == "" {
		tier = os.Getenv("E2E_NODES")
		if tier == "" {
			tier = "fake"
		}
		kubeconfig = filepath.Join(folder, "cluster", "kubeconfig")
		environment.Setup(devcluster("up", "--nodes="+tier, "--dir="+filepath.Dir(kubeconfig)))
		environment.Finish(devcluster("down", "--dir="+filepath.Dir(kubeconfig)))
	}
	environment.Setup(connect(kubeconfig))
	code := environment.Run(m)
	testcluster.PrintLogs()
	if err := os.RemoveAll(folder); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	fmt.Println("nodes:", tier)
	os.Exit(code)
}

// devcluster runs bin/devcluster.
func devcluster(args ...string) env.Func {
	return func(ctx context.Context, _ *envconf.Config) (context.Context, error) {
		return ctx, testcluster.Devcluster(ctx, args...)
	}
}

// connect installs operator-status without its Deployment, since the tests run bin/manager themselves.
func connect(kubeconfig string) env.Func {
	return func(ctx context.Context, cfg *envconf.Config) (context.Context, error) {
		var config *rest.Config
		config, err := conf.New(kubeconfig)
		if err != nil {
			return ctx, fmt.Errorf("reading %s: %w", kubeconfig, err)
		}
		cfg.WithKubeconfigFile(kubeconfig)
		cluster, err = testcluster.Connect(config, "default")
		return ctx, err
	}
}
