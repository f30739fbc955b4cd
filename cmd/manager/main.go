// Command manager runs operator-status.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"slices"

	"go.uber.org/zap/zapcore"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/operator-status/operator-status/internal/lifecycle"
	"github.com/operator-status/operator-status/internal/lifecycle/catalog"
	"github.com/operator-status/operator-status/internal/lifecycle/catalog/reader"
	"github.com/operator-status/operator-status/internal/manager"
	"github.com/operator-status/operator-status/internal/olm"
)

func main() {
	command := run
	if len(os.Args) > 1 {
		if other, ok := commands[os.Args[1]]; ok {
			os.Args = slices.Delete(os.Args, 1, 2)
			command = other
		}
	}
	if err := command(); err != nil {
		fmt.Fprintln(os.Stderr, "operator-status:", err)
		os.Exit(1)
	}
}

// commands are the subcommands besides running the manager.
var commands = map[string]func() error{
	"release":          release,
	catalog.ReaderMode: reader.Serve, // started by the manager
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
	controllers := flag.String("controllers", string(manager.ControllersAll),
		"Controllers that run in this process: all; lifecycle, the built-in loops of Subscriptions, InstallPlans and ClusterServiceVersions; or status, all others.")
	mode := flag.String("lifecycle", string(lifecycle.ModeAuto),
		"Who runs the loops of Subscriptions, InstallPlans and ClusterServiceVersions: auto, builtin, olm or off.")
	flag.StringVar(&o.GlobalCatalogNamespace, "global-catalog-namespace", manager.DefaultGlobalCatalogNamespace,
		"Namespace of the CatalogSources that every namespace can see, and whose bundles may reach beyond theirs.")
	flag.StringVar(&o.TrustedCatalogs, "trusted-catalogs", "",
		"Catalogs besides the global ones that are trusted with the cluster: their bundles are installed as the manager where the OperatorGroup names no service account. "+
			"A list of <namespace>/<name>, or * for all, as OLM does.")
	flag.StringVar(&o.CatalogAllowCIDR, "catalog-allow-cidr", "",
		"Addresses of the manager's own host, of its network and of the API server that catalogs which are not trusted may point to all the same: a list of CIDRs.")
	flag.BoolVar(&o.RequireDigests, "require-digests", false,
		"Reject images of catalogs and bundles that are referred to by a tag.")
	flag.StringVar(&o.CatalogPlaintext, "catalog-plaintext", "",
		"Hosts, each as <host> or <host>:<port>, that catalogs and images are read from without TLS. A Service in the catalog's own namespace needs no mention as spec.address.")
	flag.StringVar(&o.Namespace, "namespace", "",
		"Namespace where the manager keeps what no tenant may write; that of its pod if empty, or "+manager.DefaultNamespace+" outside a cluster.")
	flag.StringVar(&o.DefaultCatalog, "default-catalog", "",
		"Catalog of PlatformOperators that name none, as <namespace>/<name>; "+manager.DefaultCatalog+" of the global catalog namespace if empty.")
	flag.StringVar(&o.DefaultResourcesAccount, "default-resources-account", "",
		"Service account that applies spec.resources of PlatformOperators that name none, as <namespace>/<name>; the manager itself if empty, which applies no objects of RBAC.")
	flag.StringVar(&o.ReservedNamespaces, "reserved-namespaces", manager.DefaultReservedNamespaces,
		"Namespaces that PlatformOperators cannot install in, besides the manager's own: a list of names and patterns; empty for none.")
	flag.BoolVar(&o.HideForeignNames, "hide-foreign-names", false,
		"Count the custom resources outside a Probe's namespace in its status, and in all that repeats it, instead of naming them.")
	flag.DurationVar(&o.DegradedInertia, "degraded-inertia", manager.DefaultDegradedInertia,
		"How long a PlatformOperator has to have been failing until the ClusterOperator is Degraded, and must not fail until that is over.")
	flag.StringVar(&o.CatalogDir, "catalog-dir", "",
		"Folder to keep the content of catalog images in; one in the system's folder for temporary files if empty.")
	logs := zap.Options{StacktraceLevel: zapcore.DPanicLevel} // the text of an error states where it occurred
	logs.BindFlags(flag.CommandLine)
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q: see --help", flag.Arg(0))
	}

	var err error
	if o.Lifecycle, err = lifecycle.ParseMode(*mode); err != nil {
		return err
	}
	if o.Controllers, err = manager.ParseControllers(*controllers); err != nil {
		return err
	}
	logger := zap.New(zap.UseFlagOptions(&logs))
	ctrl.SetLogger(logger)
	klog.SetLogger(logger)

	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("finding the cluster: %w", err)
	}
	saveMemory()
	ctx := ctrl.SetupSignalHandler()
	mgr, err := manager.New(ctx, config, o)
	if err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// release releases all updates held beside an OLM, before operator-status is uninstalled, or undoes that.
func release() error {
	undo := flag.Bool("undo", false, "Take back what was released: the Probes decide again.")
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q: see release --help", flag.Arg(0))
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("finding the cluster: %w", err)
	}
	scheme, err := manager.Scheme()
	if err != nil {
		return err
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("connecting to the cluster: %w", err)
	}
	act := olm.Release
	if *undo {
		act = olm.TakeBack
	}
	return act(ctrl.SetupSignalHandler(), c, metav1.Now(), os.Stdout)
}

// saveMemory lowers the garbage collection target unless GOGC is set. Work arrives in bursts of large documents, and
// the manager keeps the memory of its peak for the rest of its life.
func saveMemory() {
	const percent = 50
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}
