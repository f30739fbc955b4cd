// Package manager assembles the controllers. It is the only package that depends on all of them.
package manager

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	xpcontroller "github.com/crossplane/crossplane-runtime/v2/pkg/controller"
	"github.com/crossplane/crossplane-runtime/v2/pkg/gate"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/customresourcesgate"
	"github.com/go-logr/logr"
	configv1 "github.com/openshift/api/config/v1"
	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	olmv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	"github.com/prometheus/client_golang/prometheus"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	controllerconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	ctrlmanager "sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	platformv1alpha1 "github.com/operator-status/operator-status/api/platform/v1alpha1"
	policyv1alpha1 "github.com/operator-status/operator-status/api/policy/v1alpha1"
	"github.com/operator-status/operator-status/internal/annotations"
	"github.com/operator-status/operator-status/internal/apply"
	"github.com/operator-status/operator-status/internal/controller/probe"
	"github.com/operator-status/operator-status/internal/controller/probepolicy"
	"github.com/operator-status/operator-status/internal/informer"
	"github.com/operator-status/operator-status/internal/installer"
	"github.com/operator-status/operator-status/internal/installer/builtin/catalog/store"
	olmv0controller "github.com/operator-status/operator-status/internal/installer/olmv0/controller"
	"github.com/operator-status/operator-status/internal/lifecycle"
	"github.com/operator-status/operator-status/internal/live"
	"github.com/operator-status/operator-status/internal/operand"
	"github.com/operator-status/operator-status/internal/optin"
	"github.com/operator-status/operator-status/internal/upgradehold"
	"github.com/operator-status/operator-status/internal/watch"
)

// Version is the version of the manager, set by the build.
var Version = "0.0.0-dev"

// UserAgent identifies the manager in the audit log of the API server, even when it impersonates an account.
const UserAgent = "operator-status"

// Options configures a manager. The zero value serves neither metrics nor health, and disables leader election.
type Options struct {
	// MetricsAddress is the address that serves metrics, to clients that the API server authorizes. Empty or "0" disables it.
	MetricsAddress string

	// MetricsCertDir contains tls.crt and tls.key for metrics, or is empty for a self-signed certificate.
	MetricsCertDir string

	// HealthAddress is the address that serves /healthz and /readyz. Empty or "0" disables it.
	HealthAddress string

	// LeaderElect enables leader election: only one of several managers acts.
	LeaderElect bool

	// LeaderElectionNamespace is the namespace of the Lease. It defaults to the manager's own namespace.
	LeaderElectionNamespace string

	// Controllers are those that run in this process; all if empty.
	Controllers Controllers

	// Lifecycle sets who runs the loops. It is detected if empty.
	Lifecycle lifecycle.Mode

	// GlobalCatalogNamespace is the namespace whose CatalogSources are visible in every namespace, and whose bundles
	// may affect other namespaces; DefaultGlobalCatalogNamespace if empty.
	GlobalCatalogNamespace string

	// TrustedCatalogs are catalogs, besides the global ones, whose bundles the manager installs with its own
	// permissions if the OperatorGroup names no service account: a list of <namespace>/<name>, or * for all, as OLM
	// does.
	TrustedCatalogs string

	// Namespace is the manager's own, for objects that no tenant may write. It defaults to that of its pod, or to
	// DefaultNamespace outside a cluster.
	Namespace string

	// DefaultCatalog is the catalog for PlatformOperators that name none, as <namespace>/<name>; DefaultCatalog in the
	// global catalog namespace if empty.
	DefaultCatalog string

	// DefaultResourcesAccount is the service account that applies `spec.resources` of PlatformOperators that name none,
	// as <namespace>/<name>. If empty it is the manager itself, which applies no RBAC objects.
	DefaultResourcesAccount string

	// ReservedNamespaces are the namespaces, besides the manager's own, in which PlatformOperators must not install:
	// a list of names and patterns, or empty.
	ReservedNamespaces string

	// CatalogAllowCIDR is a list of CIDRs: the loopback, link-local and API server addresses that untrusted catalogs
	// may refer to nevertheless.
	CatalogAllowCIDR string

	// RequireDigests rejects images of catalogs and bundles that are referred to by a tag.
	RequireDigests bool

	// CatalogPlaintext is a list of hosts, as <host> or <host>:<port>, from which catalogs and images may be read
	// without TLS.
	CatalogPlaintext string

	// DegradedInertia is how long a PlatformOperator must fail before the ClusterOperator is Degraded, and how long it
	// must be healthy again before that ends.
	DegradedInertia time.Duration

	// CatalogDir is the directory for the content of catalog images; a subdirectory of the system's temporary directory
	// if empty.
	CatalogDir string

	// ProbeReaderImage is the image of the pods of Probes with isolation Pod; that of the manager's own pod if empty.
	ProbeReaderImage string

	// HideForeignNames makes statuses count custom resources outside their namespace without naming them.
	HideForeignNames bool

	// TracingEndpoint is the <host>:<port> of a collector that receives traces of updates with OTLP over gRPC. It
	// defaults to that of OpenTelemetry's environment variables. Without either, updates are not traced.
	TracingEndpoint string

	// TracingInsecure disables TLS for TracingEndpoint.
	TracingInsecure bool

	trust   apply.Trust    // parsed TrustedCatalogs
	allowed []netip.Prefix // parsed CatalogAllowCIDR
}

// Controllers selects the controllers of a process. Installing operators requires all permissions and reporting their
// status only few, so each can run in its own process with its own account.
type Controllers string

// Controllers of a process.
const (
	ControllersAll       Controllers = "all"
	ControllersStatus    Controllers = "status"    // Probes, PlatformOperators, the ClusterOperator, and the controllers for use with OLM
	ControllersLifecycle Controllers = "lifecycle" // the built-in loops
)

// ParseControllers parses the value of a flag.
func ParseControllers(s string) (Controllers, error) {
	known := []Controllers{ControllersAll, ControllersStatus, ControllersLifecycle}
	if c := Controllers(s); slices.Contains(known, c) {
		return c, nil
	}
	return "", fmt.Errorf("unknown controllers %q: use one of %v", s, known)
}

// DefaultNamespace is the namespace of the manager in the manifests under config.
const DefaultNamespace = "operator-status-system"

// DefaultGlobalCatalogNamespace is that of OLM, so existing Subscriptions find their catalogs.
const DefaultGlobalCatalogNamespace = "olm"

// DefaultCatalog is the name of the catalog in OLM's release.
const DefaultCatalog = "operatorhubio-catalog"

// DefaultReservedNamespaces are those of Kubernetes and OpenShift.
const DefaultReservedNamespaces = "kube-*,openshift-*,default"

// DefaultDegradedInertia keeps transient failures from making the ClusterOperator Degraded, as OpenShift's own
// operators do.
const DefaultDegradedInertia = 2 * time.Minute

// withoutHTTP2 disables HTTP/2, whose stream resets can exhaust a server (CVE-2023-44487).
func withoutHTTP2(c *tls.Config) { c.NextProtos = []string{"http/1.1"} }

// Scheme returns a scheme with every kind that the manager reads or writes.
func Scheme() (*runtime.Scheme, error) {
	out := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme,
		apiextensions.AddToScheme,
		addOLM,
		operatorsv1.AddToScheme,
		operatorsv2.AddToScheme,
		v1alpha1.AddToScheme,
		platformv1alpha1.AddToScheme,
		policyv1alpha1.AddToScheme,
		holdv1alpha1.AddToScheme,
		configv1.Install,
	} {
		if err := add(out); err != nil {
			return nil, fmt.Errorf("building the scheme: %w", err)
		}
	}
	return out, nil
}

// addOLM adds the kinds of operators.coreos.com/v1alpha1 with OLM's types. Subscription and ClusterServiceVersion have
// types of this project.
func addOLM(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(olmv1alpha1.SchemeGroupVersion,
		&olmv1alpha1.CatalogSource{}, &olmv1alpha1.CatalogSourceList{},
		&olmv1alpha1.InstallPlan{}, &olmv1alpha1.InstallPlanList{})
	return nil
}

// New returns a manager with all selected controllers for the cluster of the given config.
func New(ctx context.Context, config *rest.Config, o Options) (ctrl.Manager, error) {
	o.Lifecycle = cmp.Or(o.Lifecycle, lifecycle.ModeAuto)
	o.Controllers = cmp.Or(o.Controllers, ControllersAll)
	o.GlobalCatalogNamespace = cmp.Or(o.GlobalCatalogNamespace, DefaultGlobalCatalogNamespace)
	o.DefaultCatalog = cmp.Or(o.DefaultCatalog, o.GlobalCatalogNamespace+"/"+DefaultCatalog)
	o.CatalogDir = cmp.Or(o.CatalogDir, filepath.Join(os.TempDir(), "operator-status", "catalogs"))
	if o.Namespace == "" {
		if own, err := ownNamespace(); err == nil {
			o.Namespace = own
		}
	}
	o.Namespace = cmp.Or(o.Namespace, DefaultNamespace)
	var err error
	if o.trust, err = apply.ParseTrust(o.TrustedCatalogs, o.GlobalCatalogNamespace); err != nil {
		return nil, fmt.Errorf("parsing the trusted catalogs: %w", err)
	}
	if o.allowed, err = store.ParseAllowed(o.CatalogAllowCIDR); err != nil {
		return nil, fmt.Errorf("parsing the addresses that catalogs may point to: %w", err)
	}
	config = rest.CopyConfig(config)
	config.UserAgent = UserAgent
	config.QPS = -1 // API priority and fairness limits enough
	config.Wrap(withTimeout)
	scheme, err := Scheme()
	if err != nil {
		return nil, err
	}
	identity, err := newIdentity()
	if err != nil {
		return nil, err
	}
	var lock resourcelock.Interface
	if o.LeaderElect {
		if lock, err = leaderLock(config, o.LeaderElectionNamespace, leaseOf(o.Controllers), identity); err != nil {
			return nil, err
		}
		f := newFence()
		lock = f.lock(lock)
		config.Wrap(f.wrap)
	}
	undecodable, err := informer.NewUndecodable(metrics.Registry)
	if err != nil {
		return nil, fmt.Errorf("registering a metric: %w", err)
	}
	newCache := informer.NewCache(undecodable, v1alpha1.GroupVersion.Group, platformv1alpha1.GroupVersion.Group, holdv1alpha1.GroupVersion.Group,
		policyv1alpha1.GroupVersion.Group, configv1.GroupName)
	made, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:   scheme,
		NewCache: newCache,
		Cache:    cacheOptions(o.Namespace),
		Metrics: metricsserver.Options{
			BindAddress:    orNone(o.MetricsAddress),
			SecureServing:  true,
			CertDir:        o.MetricsCertDir,
			FilterProvider: filters.WithAuthenticationAndAuthorization,
			TLSOpts:        []func(*tls.Config){withoutHTTP2},
		},
		// A cache that cannot be filled is read again, with pauses: no controller gives up before it is.
		Controller:                          controllerconfig.Controller{CacheSyncTimeout: 365 * 24 * time.Hour},
		HealthProbeBindAddress:              orNone(o.HealthAddress),
		LeaderElection:                      o.LeaderElect,
		LeaderElectionResourceLockInterface: lock,
		LeaderElectionReleaseOnCancel:       true, // the process ends with the manager
	})
	if err != nil {
		return nil, fmt.Errorf("creating the manager: %w", err)
	}
	mgr := inPages{made}
	undecodable.Recorder = mgr.GetEventRecorder(UserAgent)
	mode := lifecycle.NewSwitch(o.Lifecycle, mgr.GetAPIReader())
	if err := addHealthChecks(mgr, mode); err != nil {
		return nil, err
	}
	return mgr, addControllers(ctx, mgr, config, o, mode, newCache, identity)
}

func orNone(address string) string {
	if address == "" {
		return "0"
	}
	return address
}

// addHealthChecks serves liveness, and readiness: the informers that have been started are synced, it is decided who runs the loops, and
// the kinds are served without which nothing is held. Being the leader is no part of it, since a rollout ends the leader only once its
// successor is ready.
func addHealthChecks(mgr ctrl.Manager, mode *lifecycle.Switch) error {
	if err := mgr.AddHealthzCheck("alive", healthz.Ping); err != nil {
		return fmt.Errorf("adding the health check: %w", err)
	}
	if err := mgr.AddReadyzCheck("caches", synced(mgr.GetCache())); err != nil {
		return fmt.Errorf("adding the readiness check: %w", err)
	}
	if err := mgr.AddReadyzCheck("lifecycle", func(*http.Request) error { return mode.Decided() }); err != nil {
		return fmt.Errorf("adding the readiness check: %w", err)
	}
	if err := mgr.AddReadyzCheck("kinds", served(mgr.GetClient(), mgr.GetLogger())); err != nil {
		return fmt.Errorf("adding the readiness check: %w", err)
	}
	return nil
}

// holdDefinitions are the names of the CustomResourceDefinitions of holdKinds.
var holdDefinitions = []string{"upgradeholds.operatorstatus.io", "probepolicies.operatorstatus.io", "upgradeholdpolicies.operatorstatus.io"}

// served checks that the kinds exist without which no update is held. A rollout of a version whose CustomResourceDefinitions were not applied
// must not end the version that holds updates. The log has the reason, since the kubelet reports none.
func served(crds client.Reader, log logr.Logger) healthz.Checker {
	var last atomic.Value // the reason that was logged last
	return func(r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), time.Second)
		defer cancel()
		var missing []string
		for _, name := range holdDefinitions {
			switch served, err := operand.IsServed(ctx, crds, name, holdv1alpha1.GroupVersion.Version); {
			case err != nil:
				return err
			case !served:
				missing = append(missing, name)
			}
		}
		if len(missing) == 0 {
			return nil
		}
		err := fmt.Errorf("not installed: %s; apply the CustomResourceDefinitions of this version", strings.Join(missing, ", "))
		if last.Swap(err.Error()) != err.Error() {
			log.Info("Not ready, since no update would be held", "because", err.Error())
		}
		return err
	}
}

// synced checks that every informer of a cache has listed its objects.
func synced(of interface{ WaitForCacheSync(context.Context) bool }) healthz.Checker {
	return func(r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), time.Second)
		defer cancel()
		if !of.WaitForCacheSync(ctx) {
			return errors.New("the caches have not synced yet")
		}
		return nil
	}
}

// addControllers adds the controllers. Those that need kinds that may not be installed start once these are.
func addControllers(ctx context.Context, mgr ctrl.Manager, config *rest.Config, o Options, mode *lifecycle.Switch, newCache cache.NewCacheFunc,
	identity string) error {
	if err := mode.SetupWithManager(mgr); err != nil {
		return fmt.Errorf("adding the lifecycle switch: %w", err)
	}
	installed, err := gateOnCRDs(ctx, mgr)
	if err != nil {
		return err
	}
	as := &accounts{config: config, mgr: mgr}
	if o.Controllers != ControllersStatus {
		builtin := &loops{mgr: mgr, accounts: as, options: o, mode: mode, newCache: newCache, probeReader: probeReader(mgr, o, identity)}
		installed.when(func() error { return builtin.start(ctx) }, slices.Concat(loopKinds, holdKinds, []schema.GroupVersionKind{policyKind})...)
	}
	if o.Controllers == ControllersLifecycle {
		return nil
	}
	records, err := newRecords(mgr, o.Namespace)
	if err != nil {
		return err
	}
	optIns := optIns{&optin.Store{Reader: records, Writer: mgr.GetClient(), Namespace: o.Namespace}, records}
	index := &upgradehold.Index{Client: mgr.GetClient(), Reader: records, Namespace: o.Namespace}
	found, err := newOperators(mgr)
	if err != nil {
		return err
	}
	owners := &annotations.Owners{Client: mgr.GetClient()}
	if err := addProbes(ctx, mgr, config, installed, mode, o, identity, optIns, found, owners); err != nil {
		return err
	}
	installed.when(func() error { return addHolds(ctx, mgr, installed, o, found, owners, index, records) }, holdKinds...)
	if err := addMetrics(ctx, mgr, installed); err != nil {
		return err
	}
	addHoldEvents(ctx, mgr, installed)
	if err := addTracing(ctx, mgr, installed, o); err != nil {
		return err
	}
	installed.when(func() error { return addBridges(mgr, mode, o, identity, optIns.Store, index) }, slices.Concat(loopKinds, holdKinds)...)
	return addPlatform(ctx, mgr, installed, as, o)
}

// probeReader returns a function that returns the identity of the process that reads custom resources: this one, or the
// holder of its Lease.
func probeReader(mgr ctrl.Manager, o Options, identity string) func(context.Context) (string, error) {
	if o.Controllers == ControllersLifecycle {
		return leaseHolder(mgr.GetAPIReader(), cmp.Or(o.LeaderElectionNamespace, o.Namespace))
	}
	return func(context.Context) (string, error) { return identity, nil }
}

// addProbes adds the controllers of Probes, and the OperatorCondition gate, which acts unless the built-in loops run.
func addProbes(ctx context.Context, mgr ctrl.Manager, config *rest.Config, installed *crdGate, mode *lifecycle.Switch, o Options, identity string,
	optIns optIns, found operators, owners *annotations.Owners) error {
	engine := watch.New(config, mgr.GetLogger().WithName("watch"))
	if err := mgr.Add(ctrlmanager.RunnableFunc(func(ctx context.Context) error {
		<-ctx.Done()
		engine.Close()
		return nil
	})); err != nil {
		return fmt.Errorf("adding the watch engine: %w", err)
	}
	if err := probe.IndexCache(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	probes := probe.NewStatusReconciler(mgr.GetClient(), engine, mgr.GetEventRecorder(UserAgent), identity)
	probes.OptIns = optIns.Store
	schemas := operand.NewSchemas(mgr.GetAPIReader())
	probes.Schemas = schemas
	probes.Operators = probe.Operators{Find: found.find, Changes: found.Cache, Kinds: found.kinds(), Of: found.of}
	probes.Pods = probe.Pods{Live: mgr.GetAPIReader(), Image: ownImage(mgr.GetAPIReader(), o.ProbeReaderImage), Namespace: o.Namespace}
	if o.HideForeignNames {
		probes.HideForeignNames()
	}
	for _, collector := range []prometheus.Collector{engine, probes} {
		if err := metrics.Registry.Register(collector); err != nil {
			return fmt.Errorf("registering the metrics of Probes: %w", err)
		}
	}
	status, err := probes.SetupWithManager(mgr)
	if err != nil {
		return fmt.Errorf("adding the Probe status controller: %w", err)
	}
	policies := &probepolicy.Reconciler{Client: mgr.GetClient(), OptIns: optIns.Store, Schemas: schemas, Owners: owners, Now: time.Now}
	installed.when(func() error {
		if err := policies.SetupWithManager(mgr); err != nil {
			return fmt.Errorf("adding the ProbePolicy controller: %w", err)
		}
		return nil
	}, probePolicyKind)
	installed.when(func() error {
		if err := owners.Index(ctx, mgr.GetFieldIndexer()); err != nil {
			return err
		}
		specs := &probe.SpecReconciler{Client: mgr.GetClient(), OptIns: optIns.Store, Changes: optIns.cache, Owners: owners}
		if err := specs.SetupWithManager(mgr); err != nil {
			return fmt.Errorf("adding the Probe spec controller: %w", err)
		}
		return alsoWatch(mgr, status, &v1alpha1.ClusterServiceVersion{})
	}, v1alpha1.GroupVersion.WithKind(v1alpha1.ClusterServiceVersionKind), probePolicyKind)
	installed.when(func() error {
		reconciler := &olmv0controller.GateReconciler{
			Client: mgr.GetClient(), Clock: time.Now, Recorder: mgr.GetEventRecorder(UserAgent), OptIns: optIns.Store, Self: self(),
		}
		beside := func(r reconcile.Reconciler) reconcile.Reconciler { return mode.While(lifecycle.NotBuiltin, r) }
		if err := reconciler.SetupWithManager(mgr, beside); err != nil {
			return fmt.Errorf("adding the OperatorCondition gate: %w", err)
		}
		return alsoWatch(mgr, status, &operatorsv2.OperatorCondition{})
	}, operatorConditionKind, upgradeHoldKind, probePolicyKind, holdPolicyKind,
		v1alpha1.GroupVersion.WithKind(v1alpha1.SubscriptionKind), v1alpha1.GroupVersion.WithKind(v1alpha1.ClusterServiceVersionKind))
	installed.when(func() error { return probes.WatchOperatorGroups(mgr, status) }, operatorsv1.GroupVersion.WithKind("OperatorGroup"))
	installed.when(func() error { return probes.WatchSubscriptions(mgr, status) },
		v1alpha1.GroupVersion.WithKind(v1alpha1.SubscriptionKind), v1alpha1.GroupVersion.WithKind(v1alpha1.ClusterServiceVersionKind))
	return nil
}

// addBridges adds the controllers for OLM's Subscriptions and InstallPlans, which act while OLM runs the loops.
func addBridges(mgr ctrl.Manager, mode *lifecycle.Switch, o Options, identity string, optIns *optin.Store, index *upgradehold.Index) error {
	onlyInMode := func(r reconcile.Reconciler) reconcile.Reconciler { return mode.While(lifecycle.OLM, r) }
	subscriptions := &olmv0controller.SubscriptionReconciler{Client: mgr.GetClient(), Identity: identity, OptIns: optIns, Now: time.Now}
	if err := subscriptions.SetupWithManager(mgr, onlyInMode); err != nil {
		return fmt.Errorf("adding the bridge to OLM's Subscriptions: %w", err)
	}
	approvals := &olmv0controller.ApprovalReconciler{
		Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), OptIns: optIns, Live: liveReads(mgr, o), Identity: identity, Recorder: mgr.GetEventRecorder(UserAgent),
	}
	if err := approvals.SetupWithManager(mgr, onlyInMode); err != nil {
		return fmt.Errorf("adding the approval gate: %w", err)
	}
	holds := &olmv0controller.HoldReconciler{
		Client: mgr.GetClient(), OptIns: optIns, Identity: identity, Self: self(),
		BesideOLM: func() bool { return lifecycle.OLM(mode.Mode()) },
		Holds:     newHoldWriter(mgr, o, index),
	}
	whileLoopsRun := func(r reconcile.Reconciler) reconcile.Reconciler {
		return mode.While(func(m lifecycle.Mode) bool { return lifecycle.OLM(m) || lifecycle.Builtin(m) }, r)
	}
	if err := holds.SetupWithManager(mgr, whileLoopsRun); err != nil {
		return fmt.Errorf("adding the controller of UpgradeHolds: %w", err)
	}
	return nil
}

// optIns reads the declarations that operators were installed with, from a cache of their ConfigMaps.
type optIns struct {
	*optin.Store
	cache cache.Cache
}

// newRecords returns a cache of the ConfigMaps that operator-status keeps in its namespace.
func newRecords(mgr ctrl.Manager, namespace string) (cache.Cache, error) {
	own, err := labels.Parse(optin.Label)
	if err != nil {
		return nil, err
	}
	out, err := cache.New(mgr.GetConfig(), cache.Options{
		HTTPClient:           mgr.GetHTTPClient(),
		Scheme:               mgr.GetScheme(),
		Mapper:               mgr.GetRESTMapper(),
		DefaultNamespaces:    map[string]cache.Config{namespace: {}},
		DefaultLabelSelector: own,
		DefaultTransform:     cache.TransformStripManagedFields(),
	})
	if err != nil {
		return nil, fmt.Errorf("creating the cache of operator-status' ConfigMaps: %w", err)
	}
	return out, mgr.Add(out)
}

// liveReads returns how custom resources are read when an update is about to begin.
func liveReads(mgr ctrl.Manager, o Options) live.Probes {
	return live.Probes{Reader: mgr.GetAPIReader(), List: watch.NewLister(mgr.GetConfig()).List, HideForeign: o.HideForeignNames}
}

// alsoWatch makes a controller also enqueue the names of changed objects of another kind.
func alsoWatch(mgr ctrl.Manager, c controller.Controller, kind client.Object) error {
	return c.Watch(source.Kind(mgr.GetCache(), kind, &handler.EnqueueRequestForObject{}))
}

// crdGate starts controllers once the CustomResourceDefinitions that they need are established.
type crdGate struct {
	ctx    context.Context
	mapper meta.RESTMapper
	gate   *gate.Gate[schema.GroupVersionKind]
	failed chan error
}

// gateOnCRDs adds a crdGate to the manager. If something fails to start, the manager ends with an error, so a restart
// tries again. To continue would silently leave out a controller.
func gateOnCRDs(ctx context.Context, mgr ctrl.Manager) (*crdGate, error) {
	out := &crdGate{
		ctx:    ctx,
		mapper: mgr.GetRESTMapper(),
		gate:   &gate.Gate[schema.GroupVersionKind]{},
		failed: make(chan error),
	}
	if err := mgr.Add(ctrlmanager.RunnableFunc(func(ctx context.Context) error {
		select {
		case err := <-out.failed:
			return err
		case <-ctx.Done():
			return nil
		}
	})); err != nil {
		return nil, fmt.Errorf("adding the CRD gate: %w", err)
	}
	err := customresourcesgate.Setup(mgr, xpcontroller.Options{
		Logger: logging.NewLogrLogger(mgr.GetLogger().WithName("crd-gate")),
		Gate:   out.gate,
	})
	if err != nil {
		return nil, fmt.Errorf("adding the CRD gate: %w", err)
	}
	return out, nil
}

// when calls start once all those kinds are installed.
func (g *crdGate) when(start func() error, kinds ...schema.GroupVersionKind) {
	g.gate.Register(func() {
		if err := g.startOnce(start, kinds); err != nil && g.ctx.Err() == nil {
			g.failed <- fmt.Errorf("starting the controllers that need %s: %w", kinds[0].Kind, err)
		}
	}, kinds...)
}

func (g *crdGate) startOnce(start func() error, kinds []schema.GroupVersionKind) error {
	for _, kind := range kinds {
		if err := g.awaitDiscovery(kind); err != nil {
			return err
		}
	}
	return start()
}

// awaitDiscovery waits until discovery lists a kind, which is shortly after it is established.
func (g *crdGate) awaitDiscovery(kind schema.GroupVersionKind) error {
	return wait.PollUntilContextTimeout(g.ctx, 100*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		_, err := g.mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if meta.IsNoMatchError(err) {
			return false, nil
		}
		return err == nil, err
	})
}

// self returns the manager's own OperatorCondition, if OLM installed it.
func self() types.NamespacedName {
	return types.NamespacedName{Namespace: os.Getenv("POD_NAMESPACE"), Name: os.Getenv(installer.EnvOperatorCondition)}
}
