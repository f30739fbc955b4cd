// Package manager puts the stages together. It alone knows every room.
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
	"time"

	xpcontroller "github.com/crossplane/crossplane-runtime/v2/pkg/controller"
	"github.com/crossplane/crossplane-runtime/v2/pkg/gate"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/customresourcesgate"
	configv1 "github.com/openshift/api/config/v1"
	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	olmv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
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
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	ctrlmanager "sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	platformv1alpha1 "github.com/operator-status/operator-status/api/platform/v1alpha1"
	policyv1alpha1 "github.com/operator-status/operator-status/api/policy/v1alpha1"
	"github.com/operator-status/operator-status/internal/apply"
	"github.com/operator-status/operator-status/internal/informer"
	"github.com/operator-status/operator-status/internal/lifecycle"
	"github.com/operator-status/operator-status/internal/lifecycle/catalog"
	"github.com/operator-status/operator-status/internal/olm"
	"github.com/operator-status/operator-status/internal/probe"
	"github.com/operator-status/operator-status/internal/watch"
)

// Version is that of the manager. The build sets it.
var Version = "0.0.0-dev"

// UserAgent is how the API server's audit log names the manager, whoever it impersonates.
const UserAgent = "operator-status"

// Options of a manager. The zero value serves neither metrics nor health, and elects no leader.
type Options struct {
	// MetricsAddress to serve metrics on, to those whom the API server lets; empty or "0" for none.
	MetricsAddress string

	// MetricsCertDir holds tls.crt and tls.key to serve them with; empty for a certificate of our own.
	MetricsCertDir string

	// HealthAddress to serve /healthz and /readyz on; empty or "0" for none.
	HealthAddress string

	// LeaderElect has one of several managers act.
	LeaderElect bool

	// LeaderElectionNamespace holds the lease; empty for the manager's own namespace.
	LeaderElectionNamespace string

	// Controllers that run in this process; all if empty.
	Controllers Controllers

	// Lifecycle says who runs the loops; empty to find out.
	Lifecycle lifecycle.Mode

	// GlobalCatalogNamespace holds the CatalogSources that every namespace can see, and whose bundles may reach beyond
	// theirs; DefaultGlobalCatalogNamespace if empty.
	GlobalCatalogNamespace string

	// TrustedCatalogs are those besides the global ones whose bundles are installed as the manager where the OperatorGroup names
	// no service account: a list of <namespace>/<name>, or * for all, as OLM does.
	TrustedCatalogs string

	// Namespace is the manager's own, where it keeps what no tenant may write; that of its pod if empty, or DefaultNamespace
	// outside a cluster.
	Namespace string

	// DefaultCatalog is where the packages of PlatformOperators come from that name no catalog, as <namespace>/<name>;
	// DefaultCatalog of the global catalog namespace if empty.
	DefaultCatalog string

	// DefaultResourcesAccount is the service account that applies `spec.resources` of PlatformOperators that name none, as
	// <namespace>/<name>; the manager itself if empty, which applies no objects of RBAC.
	DefaultResourcesAccount string

	// ReservedNamespaces are those that PlatformOperators cannot install in, besides the manager's own: a list of names and patterns;
	// empty for none.
	ReservedNamespaces string

	// CatalogAllowCIDR is a list of CIDRs: loopback, link-local and API server addresses that untrusted catalogs may refer to all the same.
	CatalogAllowCIDR string

	// RequireDigests rejects images of catalogs and bundles that are referred to by a tag.
	RequireDigests bool

	// CatalogPlaintext is a list of hosts, as <host> or <host>:<port>, that catalogs and images may be read from without TLS.
	CatalogPlaintext string

	// DegradedInertia is how long a PlatformOperator has to fail before the ClusterOperator is Degraded, and how long it must have been
	// well before that ends.
	DegradedInertia time.Duration

	// CatalogDir is the folder that the content of catalog images is kept in; one in the system's folder for temporary
	// files if empty.
	CatalogDir string

	// HideForeignNames has custom resources outside a Probe's namespace counted in its status, and not named.
	HideForeignNames bool

	trust   apply.Trust    // what TrustedCatalogs says
	allowed []netip.Prefix // what CatalogAllowCIDR says
}

// Controllers names those that run in one process. Installing operators takes all rights and reporting on them few, so that each can
// have a process with an account of its own.
type Controllers string

// Controllers to run in one process.
const (
	ControllersAll       Controllers = "all"
	ControllersStatus    Controllers = "status"    // Probes, PlatformOperators, the ClusterOperator, and what acts beside an OLM
	ControllersLifecycle Controllers = "lifecycle" // the built-in loops
)

// ParseControllers reads a flag's value.
func ParseControllers(s string) (Controllers, error) {
	known := []Controllers{ControllersAll, ControllersStatus, ControllersLifecycle}
	if c := Controllers(s); slices.Contains(known, c) {
		return c, nil
	}
	return "", fmt.Errorf("unknown controllers %q: use one of %v", s, known)
}

// DefaultNamespace is the one that config installs the manager in.
const DefaultNamespace = "operator-status-system"

// DefaultGlobalCatalogNamespace is OLM's own, so that the Subscriptions people have find their catalogs.
const DefaultGlobalCatalogNamespace = "olm"

// DefaultCatalog is the name of the catalog that OLM's own release brings along.
const DefaultCatalog = "operatorhubio-catalog"

// DefaultReservedNamespaces are those of Kubernetes and OpenShift themselves.
const DefaultReservedNamespaces = "kube-*,openshift-*,default"

// DefaultDegradedInertia keeps the ClusterOperator from being Degraded by what comes and goes, as OpenShift's own operators have it.
const DefaultDegradedInertia = 2 * time.Minute

// withoutHTTP2 disables HTTP/2, whose stream resets can exhaust a server (CVE-2023-44487).
func withoutHTTP2(c *tls.Config) { c.NextProtos = []string{"http/1.1"} }

// Scheme knows every kind that the manager reads or writes.
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
		configv1.Install,
	} {
		if err := add(out); err != nil {
			return nil, fmt.Errorf("building the scheme: %w", err)
		}
	}
	return out, nil
}

// addOLM adds the kinds of operators.coreos.com/v1alpha1 that are OLM's own. Subscription and ClusterServiceVersion are
// ours.
func addOLM(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(olmv1alpha1.SchemeGroupVersion,
		&olmv1alpha1.CatalogSource{}, &olmv1alpha1.CatalogSourceList{},
		&olmv1alpha1.InstallPlan{}, &olmv1alpha1.InstallPlanList{})
	return nil
}

// New puts a manager together that acts on the cluster of that config.
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
		return nil, fmt.Errorf("reading which catalogs are trusted: %w", err)
	}
	if o.allowed, err = catalog.ParseAllowed(o.CatalogAllowCIDR); err != nil {
		return nil, fmt.Errorf("reading where catalogs may point: %w", err)
	}
	config = rest.CopyConfig(config)
	config.UserAgent = UserAgent
	config.QPS = -1 // API priority and fairness is limit enough
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
		name := leaseName
		if o.Controllers == ControllersLifecycle {
			name = lifecycleLeaseName
		}
		if lock, err = leaderLock(config, o.LeaderElectionNamespace, name, identity); err != nil {
			return nil, err
		}
	}
	undecodable, err := informer.NewUndecodable(metrics.Registry)
	if err != nil {
		return nil, fmt.Errorf("registering a metric: %w", err)
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:   scheme,
		NewCache: informer.NewCache(undecodable, v1alpha1.GroupVersion.Group, platformv1alpha1.GroupVersion.Group, configv1.GroupName),
		Cache:    cache.Options{DefaultTransform: strip, ByObject: managed()},
		Metrics: metricsserver.Options{
			BindAddress:    orNone(o.MetricsAddress),
			SecureServing:  true,
			CertDir:        o.MetricsCertDir,
			FilterProvider: filters.WithAuthenticationAndAuthorization,
			TLSOpts:        []func(*tls.Config){withoutHTTP2},
		},
		HealthProbeBindAddress:              orNone(o.HealthAddress),
		LeaderElection:                      o.LeaderElect,
		LeaderElectionResourceLockInterface: lock,
		LeaderElectionReleaseOnCancel:       true, // the process ends with the manager
	})
	if err != nil {
		return nil, fmt.Errorf("making a manager: %w", err)
	}
	undecodable.Recorder = mgr.GetEventRecorder(UserAgent)
	if err := addHealthChecks(mgr); err != nil {
		return nil, err
	}
	return mgr, addControllers(ctx, mgr, config, o, identity)
}

func orNone(address string) string {
	if address == "" {
		return "0"
	}
	return address
}

func addHealthChecks(mgr ctrl.Manager) error {
	if err := mgr.AddHealthzCheck("alive", func(*http.Request) error { return nil }); err != nil {
		return fmt.Errorf("adding the health check: %w", err)
	}
	err := mgr.AddReadyzCheck("caches", func(r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), time.Second)
		defer cancel()
		if !mgr.GetCache().WaitForCacheSync(ctx) {
			return errors.New("still reading the cluster for the first time")
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("adding the readiness check: %w", err)
	}
	return nil
}

// addControllers adds the stages. Those that need kinds which may not be installed start when these are.
func addControllers(ctx context.Context, mgr ctrl.Manager, config *rest.Config, o Options, identity string) error {
	mode := lifecycle.NewSwitch(o.Lifecycle, mgr.GetAPIReader())
	if err := mode.SetupWithManager(mgr); err != nil {
		return fmt.Errorf("adding what decides who runs the loops: %w", err)
	}
	installed, err := gateOnCRDs(ctx, mgr)
	if err != nil {
		return err
	}
	as := &accounts{config: config, mgr: mgr}
	if o.Controllers != ControllersStatus {
		addLoops(ctx, installed, &loops{
			mgr: mgr, config: config, accounts: as, options: o, mode: mode, probeReader: probeReader(mgr, o, identity),
		})
	}
	if o.Controllers == ControllersLifecycle {
		return nil
	}
	if err := addProbes(ctx, mgr, config, installed, mode, o.HideForeignNames, identity); err != nil {
		return err
	}
	installed.when(func() error { return addBridges(mgr, mode, identity) }, loopKinds...)
	return addPlatform(ctx, mgr, installed, as, o)
}

// probeReader returns a function that returns the identity of the process that reads custom resources: this one, or the
// one that holds its lease.
func probeReader(mgr ctrl.Manager, o Options, identity string) func(context.Context) (string, error) {
	if o.Controllers == ControllersLifecycle {
		return leaseHolder(mgr.GetAPIReader(), cmp.Or(o.LeaderElectionNamespace, o.Namespace))
	}
	return func(context.Context) (string, error) { return identity, nil }
}

func addLoops(ctx context.Context, installed *crdGate, builtin *loops) {
	installed.when(func() error { return builtin.start(ctx) }, append(slices.Clone(loopKinds), policyKind)...)
}

// addProbes adds what reads custom resources, and what holds updates beside an OLM.
func addProbes(ctx context.Context, mgr ctrl.Manager, config *rest.Config, installed *crdGate, mode *lifecycle.Switch, hideForeign bool, identity string) error {
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
	if hideForeign {
		probes.HideForeignNames()
	}
	status, err := probes.SetupWithManager(mgr)
	if err != nil {
		return fmt.Errorf("adding the Probe status controller: %w", err)
	}
	installed.when(func() error {
		if err := probe.IndexCSVs(ctx, mgr.GetFieldIndexer()); err != nil {
			return err
		}
		if err := (&probe.SpecReconciler{Client: mgr.GetClient()}).SetupWithManager(mgr); err != nil {
			return fmt.Errorf("adding the Probe spec controller: %w", err)
		}
		return alsoWatch(mgr, status, &v1alpha1.ClusterServiceVersion{})
	}, v1alpha1.GroupVersion.WithKind(v1alpha1.ClusterServiceVersionKind))
	installed.when(func() error {
		reconciler := &olm.GateReconciler{
			Client: mgr.GetClient(), Clock: time.Now, Recorder: mgr.GetEventRecorder(UserAgent), Self: self(),
		}
		beside := func(r reconcile.Reconciler) reconcile.Reconciler { return mode.While(lifecycle.NotBuiltin, r) }
		if err := reconciler.SetupWithManager(mgr, beside); err != nil {
			return fmt.Errorf("adding the OperatorCondition gate: %w", err)
		}
		return alsoWatch(mgr, status, &operatorsv2.OperatorCondition{})
	}, operatorsv2.GroupVersion.WithKind("OperatorCondition"),
		v1alpha1.GroupVersion.WithKind(v1alpha1.SubscriptionKind), v1alpha1.GroupVersion.WithKind(v1alpha1.ClusterServiceVersionKind))
	installed.when(func() error { return probes.WatchOperatorGroups(mgr, status) }, operatorsv1.GroupVersion.WithKind("OperatorGroup"))
	installed.when(func() error { return probes.WatchSubscriptions(mgr, status) },
		v1alpha1.GroupVersion.WithKind(v1alpha1.SubscriptionKind), v1alpha1.GroupVersion.WithKind(v1alpha1.ClusterServiceVersionKind))
	return nil
}

// addBridges adds what OLM's own objects are told and asked while OLM runs the loops.
func addBridges(mgr ctrl.Manager, mode *lifecycle.Switch, identity string) error {
	around := func(r reconcile.Reconciler) reconcile.Reconciler { return mode.While(lifecycle.OLM, r) }
	subscriptions := &olm.SubscriptionReconciler{Client: mgr.GetClient(), Identity: identity, Now: time.Now}
	if err := subscriptions.SetupWithManager(mgr, around); err != nil {
		return fmt.Errorf("adding the bridge to OLM's Subscriptions: %w", err)
	}
	approvals := &olm.ApprovalReconciler{
		Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Identity: identity, Recorder: mgr.GetEventRecorder(UserAgent),
	}
	if err := approvals.SetupWithManager(mgr, around); err != nil {
		return fmt.Errorf("adding the approval gate: %w", err)
	}
	return nil
}

// alsoWatch has a controller look at what has the name of an object of another kind.
func alsoWatch(mgr ctrl.Manager, c controller.Controller, kind client.Object) error {
	return c.Watch(source.Kind(mgr.GetCache(), kind, &handler.EnqueueRequestForObject{}))
}

// crdGate starts what needs a kind when its CustomResourceDefinition is there.
type crdGate struct {
	ctx    context.Context
	mapper meta.RESTMapper
	gate   *gate.Gate[schema.GroupVersionKind]
	failed chan error
}

// gateOnCRDs adds a gate to the manager, which ends with an error if something cannot be started: the next run tries
// again, whereas going on would leave a stage out and tell nobody.
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

// when starts something once all those kinds are installed.
func (g *crdGate) when(start func() error, kinds ...schema.GroupVersionKind) {
	g.gate.Register(func() {
		if err := g.startOnce(start, kinds); err != nil && g.ctx.Err() == nil {
			g.failed <- fmt.Errorf("starting what waited for %s: %w", kinds[0].Kind, err)
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

// awaitDiscovery waits until the API server lists a kind, which it does a little after it says that it is established.
func (g *crdGate) awaitDiscovery(kind schema.GroupVersionKind) error {
	return wait.PollUntilContextTimeout(g.ctx, 100*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		_, err := g.mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if meta.IsNoMatchError(err) {
			return false, nil
		}
		return err == nil, err
	})
}

// self is our own OperatorCondition, where OLM installed us.
func self() types.NamespacedName {
	return types.NamespacedName{Namespace: os.Getenv("POD_NAMESPACE"), Name: os.Getenv("OPERATOR_CONDITION_NAME")}
}
