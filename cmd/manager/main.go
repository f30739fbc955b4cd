// Command manager runs operator-status.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"time"

	"github.com/go-logr/logr"
	"go.uber.org/zap/zapcore"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/operator-status/operator-status/internal/installer/builtin/catalog/reader"
	"github.com/operator-status/operator-status/internal/installer/builtin/catalog/store"
	"github.com/operator-status/operator-status/internal/isolation"
	"github.com/operator-status/operator-status/internal/lifecycle"
	"github.com/operator-status/operator-status/internal/manager"
	"github.com/operator-status/operator-status/internal/uninstall"
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
	"release":        release,
	"leader":         leader,
	store.ReaderMode: reader.Serve, // started by the manager
	isolation.Mode:   readProbe,    // run in the pod of a Probe with isolation Pod
}

func run() error {
	var o manager.Options
	flag.StringVar(&o.MetricsAddress, "metrics-bind-address", "0",
		"Address of the metrics endpoint, which uses HTTPS and requires permission to get /metrics; 0 disables it.")
	flag.StringVar(&o.MetricsCertDir, "metrics-cert-dir", "",
		"Directory with the tls.crt and tls.key of the metrics endpoint; a self-signed certificate if empty.")
	flag.StringVar(&o.HealthAddress, "health-probe-bind-address", ":8081",
		"Address of the /healthz and /readyz endpoints; 0 disables them.")
	flag.BoolVar(&o.LeaderElect, "leader-elect", false,
		"Enable leader election: only one of several managers is active.")
	flag.StringVar(&o.LeaderElectionNamespace, "leader-election-namespace", "",
		"Namespace of the leader election lease; the namespace of the manager's pod if empty. Required outside a cluster.")
	controllers := flag.String("controllers", string(manager.ControllersAll),
		"Controllers to run in this process: all; lifecycle for the built-in loops of Subscriptions, InstallPlans and ClusterServiceVersions; status for all others.")
	mode := flag.String("lifecycle", string(lifecycle.ModeAuto),
		"Who reconciles Subscriptions, InstallPlans and ClusterServiceVersions: builtin, olm, off, or auto to detect it.")
	flag.StringVar(&o.GlobalCatalogNamespace, "global-catalog-namespace", manager.DefaultGlobalCatalogNamespace,
		"Namespace of the CatalogSources that are visible in every namespace and trusted with the cluster.")
	flag.StringVar(&o.TrustedCatalogs, "trusted-catalogs", "",
		"Other catalogs that are trusted with the cluster: if the OperatorGroup names no service account, their bundles are installed with the permissions of the manager. "+
			"A list of <namespace>/<name>, or * for all, as OLM does.")
	flag.StringVar(&o.CatalogAllowCIDR, "catalog-allow-cidr", "",
		"Loopback, link-local and API server addresses that untrusted catalogs may point to: a list of CIDRs.")
	flag.BoolVar(&o.RequireDigests, "require-digests", false,
		"Reject images of catalogs and bundles that are referenced by tag.")
	flag.StringVar(&o.CatalogPlaintext, "catalog-plaintext", "",
		"Hosts, as <host> or <host>:<port>, that catalogs and images are read from without TLS. Services in the catalog's own namespace are always allowed as spec.address.")
	flag.StringVar(&o.Namespace, "namespace", "",
		"Namespace in which the manager stores data that tenants must not change; the namespace of its pod if empty, or "+manager.DefaultNamespace+
			" outside a cluster.")
	flag.StringVar(&o.DefaultCatalog, "default-catalog", "",
		"Default catalog of PlatformOperators, as <namespace>/<name>; "+manager.DefaultCatalog+" in the global catalog namespace if empty.")
	flag.StringVar(&o.DefaultResourcesAccount, "default-resources-account", "",
		"Default service account that applies spec.resources of PlatformOperators, as <namespace>/<name>. If empty, "+
			manager.ComposerAccount+" in the manager's namespace applies them, except RBAC objects.")
	flag.StringVar(&o.ReservedNamespaces, "reserved-namespaces", manager.DefaultReservedNamespaces,
		"Namespaces that PlatformOperators cannot install into, in addition to the manager's own: a list of names and patterns.")
	flag.BoolVar(&o.HideForeignNames, "hide-foreign-names", false,
		"Count custom resources outside a Probe's namespace instead of naming them, in its status and in every message that repeats it.")
	flag.StringVar(&o.ProbeReaderImage, "probe-reader-image", "",
		"Image of the pods of Probes with isolation Pod; that of the manager's own pod if empty.")
	flag.DurationVar(&o.DegradedInertia, "degraded-inertia", manager.DefaultDegradedInertia,
		"How long a PlatformOperator must fail before the ClusterOperator is Degraded, and must be healthy before it no longer is.")
	flag.StringVar(&o.CatalogDir, "catalog-dir", "",
		"Directory for the contents of catalog images; a subdirectory of the system's temporary directory if empty.")
	flag.StringVar(&o.TracingEndpoint, "tracing-endpoint", "",
		"Collector that receives traces of updates with OTLP over gRPC, as <host>:<port>. If empty, that of OTEL_EXPORTER_OTLP_ENDPOINT, or none.")
	flag.BoolVar(&o.TracingInsecure, "tracing-insecure", false, "Send traces without TLS.")
	log, err := parse()
	if err != nil {
		return err
	}
	if o.Lifecycle, err = lifecycle.ParseMode(*mode); err != nil {
		return err
	}
	if o.Controllers, err = manager.ParseControllers(*controllers); err != nil {
		return err
	}

	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("finding the cluster: %w", err)
	}
	saveMemory()
	return persist(ctrl.SetupSignalHandler(), log, o.HealthAddress, func(ctx context.Context) error {
		mgr, err := manager.New(ctx, config, o)
		if err != nil {
			return err
		}
		return mgr.Start(ctx)
	})
}

// parse parses the flags, with those of the log, and sets the logger.
func parse() (logr.Logger, error) {
	logs := zap.Options{StacktraceLevel: zapcore.DPanicLevel} // the text of an error states where it occurred
	logs.BindFlags(flag.CommandLine)
	flag.Parse()
	if flag.NArg() > 0 {
		return logr.Logger{}, fmt.Errorf("unexpected argument %q: see --help", flag.Arg(0))
	}
	logger := zap.New(zap.UseFlagOptions(&logs))
	ctrl.SetLogger(logger)
	klog.SetLogger(logger)
	return logger, nil
}

// readProbe reads the custom resources of one Probe. Its last error is the pod's termination message.
func readProbe() error {
	identity := flag.String("identity", "", "Identity of this reader, for the status of the Probe.")
	plan := flag.String("plan", "", "Resources, expressions and namespaces to read, as JSON from the manager.")
	health := flag.String("health-probe-bind-address", ":8081", "Address of the /healthz and /readyz endpoints; 0 disables them.")
	logger, err := parse()
	if err != nil {
		return err
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("finding the cluster: %w", err)
	}
	saveMemory()
	if err := manager.ReadProbe(ctrl.SetupSignalHandler(), config, logger, *identity, *plan, *health); err != nil {
		_ = os.WriteFile(corev1.TerminationMessagePathDefault, []byte(err.Error()), 0o600) // only a container has that file
		return err
	}
	return nil
}

// release releases all updates held beside an OLM, before operator-status is uninstalled, or undoes that.
func release() error {
	undo := flag.Bool("undo", false, "Revert a release: Probes hold updates again.")
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q: see release --help", flag.Arg(0))
	}
	c, err := connect()
	if err != nil {
		return err
	}
	act := uninstall.Release
	if *undo {
		act = uninstall.TakeBack
	}
	return act(ctrl.SetupSignalHandler(), c, metav1.Now(), os.Stdout)
}

// leader waits until a manager leads. `helm test` runs it.
func leader() error {
	namespace := flag.String("namespace", "", "Namespace of the manager; that of the pod if empty.")
	controllers := flag.String("controllers", string(manager.ControllersAll), "Controllers of the manager: all, status or lifecycle.")
	timeout := flag.Duration("timeout", time.Minute, "How long to wait.")
	flag.Parse()
	which, err := manager.ParseControllers(*controllers)
	if err != nil {
		return err
	}
	c, err := connect()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctrl.SetupSignalHandler(), *timeout)
	defer cancel()
	return manager.AwaitLeader(ctx, c, *namespace, which, os.Stdout)
}

// connect returns a client for the cluster that the manager runs in, or that --kubeconfig names.
func connect() (client.Client, error) {
	config, err := ctrl.GetConfig()
	if err != nil {
		return nil, fmt.Errorf("finding the cluster: %w", err)
	}
	scheme, err := manager.Scheme()
	if err != nil {
		return nil, err
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("connecting to the cluster: %w", err)
	}
	return c, nil
}

// saveMemory lowers the garbage collection target unless GOGC is set. Work arrives in bursts of large documents, and
// the manager keeps the memory of its peak for the rest of its life. Unless GOMEMLIMIT is set, the collector also works
// harder before the container reaches MEMORY_LIMIT, its limit in bytes: the rest is for memory that Go does not manage.
func saveMemory() {
	const percent = 50
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
	if limit, err := strconv.ParseInt(os.Getenv("MEMORY_LIMIT"), 10, 64); err == nil && limit > 0 && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit / 10 * 9)
	}
}
