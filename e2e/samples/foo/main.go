package foo

import (
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	v1 "github.com/operator-status/operator-status/e2e/samples/foo/v1"
)

// Main runs an operator until it receives a signal. It exits with 1 if the operator cannot run. newReport returns the
// operator's Report, or nil.
func Main(newReport func(ctrl.Manager) (Report, error)) {
	options := flags()
	ctrl.SetLogger(zap.New())
	if err := run(options, newReport); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// flags returns the options that the command line sets. controller-runtime adds -kubeconfig.
func flags() manager.Options {
	metrics := flag.String("metrics-bind-address", "0", "the address of /metrics; 0 for none")
	probes := flag.String("health-probe-bind-address", ":8081", "the address of /healthz and /readyz")
	namespaces := flag.String("watch-namespace", os.Getenv("WATCH_NAMESPACE"), "the namespaces to watch, separated by commas; all if empty")
	flag.Parse()
	out := manager.Options{
		Metrics:                metricsserver.Options{BindAddress: *metrics},
		HealthProbeBindAddress: *probes,
		Cache:                  cache.Options{DefaultNamespaces: map[string]cache.Config{}},
	}
	for _, n := range strings.Split(*namespaces, ",") { //nolint:modernize // Go 1.22 has no SplitSeq: libraries
		if n != "" {
			out.Cache.DefaultNamespaces[n] = cache.Config{}
		}
	}
	return out
}

func run(options manager.Options, newReport func(ctrl.Manager) (Report, error)) error {
	options.Scheme = runtime.NewScheme()
	if err := v1.AddToScheme(options.Scheme); err != nil {
		return err
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	mgr, err := ctrl.NewManager(config, options)
	if err != nil {
		return err
	}
	reconciler := &Reconciler{Client: mgr.GetClient()}
	if newReport != nil {
		if reconciler.Report, err = newReport(mgr); err != nil {
			return err
		}
	}
	if err := reconciler.SetupWithManager(mgr); err != nil {
		return err
	}
	synced := func(r *http.Request) error {
		if !mgr.GetCache().WaitForCacheSync(r.Context()) {
			return errors.New("the cache is not synced")
		}
		return nil
	}
	if err := errors.Join(mgr.AddHealthzCheck("ping", healthz.Ping), mgr.AddReadyzCheck("cache", synced)); err != nil {
		return err
	}
	return mgr.Start(ctrl.SetupSignalHandler())
}
