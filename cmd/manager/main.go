// Command manager runs operator-status.
package main

import (
	"flag"
	"fmt"
	"os"

	"go.uber.org/zap/zapcore"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/operator-status/operator-status/internal/manager"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "operator-status:", err)
		os.Exit(1)
	}
}

func run() error {
	var o manager.Options
	flag.StringVar(&o.MetricsAddress, "metrics-bind-address", "0",
		"Address to serve metrics on, over HTTPS, to those who may get /metrics; 0 for none.")
	flag.StringVar(&o.MetricsCertDir, "metrics-cert-dir", "",
		"Directory of the tls.crt and tls.key to serve metrics with; a self-signed certificate if empty.")
	flag.StringVar(&o.HealthAddress, "health-probe-bind-address", ":8081",
		"Address to serve /healthz and /readyz on; 0 for none.")
	flag.BoolVar(&o.LeaderElect, "leader-elect", false,
		"Have one of several managers act.")
	flag.StringVar(&o.LeaderElectionNamespace, "leader-election-namespace", "",
		"Namespace of the leader election lease; the manager's own if empty, which outside a cluster there is none of.")
	logs := zap.Options{StacktraceLevel: zapcore.DPanicLevel} // an error tells where it comes from in words
	logs.BindFlags(flag.CommandLine)
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q: see --help", flag.Arg(0))
	}

	logger := zap.New(zap.UseFlagOptions(&logs))
	ctrl.SetLogger(logger)
	klog.SetLogger(logger)

	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("finding the cluster: %w", err)
	}
	ctx := ctrl.SetupSignalHandler()
	mgr, err := manager.New(ctx, config, o)
	if err != nil {
		return err
	}
	return mgr.Start(ctx)
}
