package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	policyv1alpha1 "github.com/operator-status/operator-status/api/policy/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
	"github.com/operator-status/operator-status/internal/kube"
	catalogsourcestatus "github.com/operator-status/operator-status/internal/status/catalogsource"
)

// FieldOwner is the field manager for the status of CatalogSources.
const FieldOwner = "operator-status"

// Reconciler reads the content of the cluster's CatalogSources into a Store, and reports the result in their status.
type Reconciler struct {
	// Store receives the content.
	Store *Store

	// Dir is the folder that catalog contents are stored in. Contents from an earlier run are reused.
	Dir string

	// Limits restricts how much is read. The zero value means DefaultLimits.
	Limits catalog.Limits

	// Reach restricts the addresses that catalogs may refer to.
	Reach Reach

	// Timeout limits one attempt to read a catalog; 0 means 5 minutes.
	Timeout time.Duration

	// Discovery returns the version of the API server, which image templates depend on.
	Discovery discovery.ServerVersionInterface

	cluster client.Client
	cache   client.Reader
	live    client.Reader
	disk    *disk
	readers *readers
	swept   bool

	// oldest has the names of the CatalogSources that are read, by namespace. A tenant may create thousands.
	oldest kube.Memo[string, map[string]bool]

	// Set when the controller starts.
	ctx   context.Context
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]

	mu      sync.Mutex
	pollers map[types.NamespacedName]running
}

// running is a poller with its target, and the function that stops it.
type running struct {
	*poller
	target target
	stop   context.CancelFunc
}

// +kubebuilder:rbac:groups=operators.coreos.com,resources=catalogsources,verbs=get;list;watch
// +kubebuilder:rbac:groups=operators.coreos.com,resources=catalogsources/status,verbs=patch
// +kubebuilder:rbac:groups=policy.operatorstatus.io,resources=imagepolicies,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get

// Reconcile makes a poller read the CatalogSource as its spec requires, and updates the status if it changed.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	if err := r.sweep(ctx); err != nil {
		return reconcile.Result{}, err
	}
	cs, err := r.get(ctx, request.NamespacedName)
	if err != nil {
		return reconcile.Result{}, err
	}
	if cs == nil {
		return reconcile.Result{}, errors.Join(r.forget(request.NamespacedName), r.enqueueOthers(ctx, request.Namespace))
	}
	kubernetes, again, err := kubernetesOf(cs, r.Discovery.ServerVersion)
	if err != nil {
		return reconcile.Result{}, err
	}
	t, err := r.target(ctx, cs, kubernetes)
	if err != nil {
		return reconcile.Result{}, err
	}
	r.Store.see(request.NamespacedName, cs.Spec.Priority)
	r.follow(request.NamespacedName, t)
	return kube.Requeue(reconcile.Result{RequeueAfter: again}, r.write(ctx, cs, catalogsourcestatus.Compute(r.inputs(cs, t, kubernetes))))
}

// kubernetesOf returns the version of the API server if the image of a CatalogSource depends on it. The duration is when
// to requeue, since an update of the cluster causes no event.
func kubernetesOf(cs *olm.CatalogSource, actual func() (*version.Info, error)) (version.Info, time.Duration, error) {
	if cs.Annotations[annotationImageTemplate] == "" {
		return version.Info{}, 0, nil
	}
	out, err := actual()
	if err != nil {
		return version.Info{}, 0, fmt.Errorf("getting the version of the API server, to resolve annotation %s of CatalogSource %s: %w",
			annotationImageTemplate, client.ObjectKeyFromObject(cs), err)
	}
	return *out, defaultEvery, nil
}

// get returns a CatalogSource, or nil.
func (r *Reconciler) get(ctx context.Context, key types.NamespacedName) (*olm.CatalogSource, error) {
	out := &olm.CatalogSource{}
	if err := r.cache.Get(ctx, key, out); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("getting CatalogSource %s: %w", key, err)
	}
	out.SetGroupVersionKind(olm.SchemeGroupVersion.WithKind(olm.CatalogSourceKind))
	return out, nil
}

// target returns the target of cs, with the current version of the ConfigMap.
func (r *Reconciler) target(ctx context.Context, cs *olm.CatalogSource, kubernetes version.Info) (target, error) {
	t := targetOf(cs, kubernetes)
	if t.every > 0 && !r.Reach.Trusts(client.ObjectKeyFromObject(cs)) {
		t.every = max(t.every, shortestUntrusted)
	}
	var err error
	if t.tooMany, err = r.tooMany(ctx, cs); err != nil {
		return t, err
	}
	if t.image != "" && t.problem == "" {
		t.demand, err = r.signing().demand(ctx, t.image)
	}
	if err != nil || t.configMap.Name == "" {
		return t, err
	}
	cm := configMapMetadata()
	if err := r.cache.Get(ctx, t.configMap, cm); client.IgnoreNotFound(err) != nil {
		return t, fmt.Errorf("getting ConfigMap %s: %w", t.configMap, err)
	}
	t.version = string(cm.UID) + "/" + cm.ResourceVersion
	return t, nil
}

// tooMany reports whether an untrusted CatalogSource is not read because its namespace has too many.
func (r *Reconciler) tooMany(ctx context.Context, cs *olm.CatalogSource) (bool, error) {
	if r.Reach.Trusts(client.ObjectKeyFromObject(cs)) {
		return false, nil
	}
	read, err := r.oldest.Get(cs.Namespace, func() (map[string]bool, error) {
		list, err := r.list(ctx, client.InNamespace(cs.Namespace))
		if err != nil {
			return nil, err
		}
		return oldest(list.Items), nil
	})
	return !read[cs.Name], err
}

func (r *Reconciler) signing() signing { return signing{r.cache} }

func configMapMetadata() *metav1.PartialObjectMetadata {
	out := &metav1.PartialObjectMetadata{}
	out.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	return out
}

// follow starts a poller for a target, unless one is running. The previous content stays in use until the poller has read a
// new one.
func (r *Reconciler) follow(key types.NamespacedName, t target) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before, ok := r.pollers[key]
	if ok && before.target == t {
		return
	}
	limit := newLimit(r.Reach.Trusts(key))
	if ok {
		before.stop()
		limit = before.limit
	}
	ctx, stop := context.WithCancel(r.ctx)
	next := running{target: t, stop: stop, poller: &poller{known: r.Store.state(key).reading, every: t.every, limit: limit, timeout: r.Timeout}}
	next.fits = func(read *reading) error { return r.Store.fits(key, read, r.Reach.Trusts) }
	next.record = func(read *reading, o outcome) bool { return r.record(ctx, key, next.poller, read, o) }
	r.pollers[key] = next
	var err error
	if next.origin, err = r.origin(key, t); err != nil {
		r.Store.record(key, next.known, outcome{err: catalog.AsError(err, v1alpha1.ReasonSpecInvalid), at: time.Now()})
		return
	}
	go next.run(ctx)
}

func (r *Reconciler) origin(key types.NamespacedName, t target) (origin, error) {
	limits := r.Limits
	if !r.Reach.Trusts(key) {
		limits = limits.Untrusted()
	}
	a := access{readers: r.readers, limits: limits, secrets: pullSecrets{reader: r.live, namespace: key.Namespace},
		route: r.Reach.of(key).trusting(t.authority, r.live), signing: r.signing()}
	if t.secrets != "" {
		a.secrets.names = strings.Split(t.secrets, ",")
	}
	switch {
	case t.problem != "":
		return nil, catalog.Errorf(v1alpha1.ReasonSpecInvalid, "%s", t.problem)
	case t.tooMany:
		return nil, catalog.Errorf(v1alpha1.ReasonTooManyCatalogSources,
			"the namespace has more than %d CatalogSources, of which the oldest are read. To trust this one: --trusted-catalogs of the manager",
			namespaceCatalogs)
	case t.image != "":
		return &imageOrigin{key: key, image: t.image, access: a, disk: r.disk, demand: t.demand}, nil
	case t.address != "":
		return newGRPCOrigin(t.address, a)
	}
	return &configMapOrigin{key: t.configMap, source: key, reader: r.live, access: a, disk: r.disk}, nil
}

// record stores the result of a poller. It returns false if the poller has been replaced.
func (r *Reconciler) record(ctx context.Context, key types.NamespacedName, f *poller, read *reading, o outcome) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if ctx.Err() != nil || r.pollers[key].poller != f {
		return false
	}
	if read != nil {
		var err error
		if read.accepted != nil {
			err = read.accepted()
		} else {
			err = r.disk.forget(key)
		}
		if err != nil {
			log.FromContext(ctx).Error(err, "Failed to record the Secrets and ConfigMaps of a CatalogSource", "catalogSource", key)
		}
	}
	r.Store.record(key, read, o)
	r.queue.Add(reconcile.Request{NamespacedName: key})
	return true
}

// forget stops the poller of a CatalogSource that does not exist, and removes its content.
func (r *Reconciler) forget(key types.NamespacedName) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f, ok := r.pollers[key]; ok {
		f.stop()
		delete(r.pollers, key)
	}
	r.Store.forget(key)
	return r.disk.forget(key)
}

// enqueueOthers enqueues the CatalogSources of a namespace after one was deleted, since another may no longer exceed the
// limit.
func (r *Reconciler) enqueueOthers(ctx context.Context, namespace string) error {
	list, err := r.list(ctx, client.InNamespace(namespace))
	if err != nil || len(list.Items) < namespaceCatalogs {
		return err
	}
	for i := range list.Items {
		r.queue.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
	return nil
}

// sweep removes, once, the stored contents of CatalogSources that were deleted while the manager was not running.
func (r *Reconciler) sweep(ctx context.Context) error {
	if r.swept {
		return nil
	}
	list, err := r.list(ctx)
	if err != nil {
		return err
	}
	exists := map[types.NamespacedName]bool{}
	for i := range list.Items {
		exists[client.ObjectKeyFromObject(&list.Items[i])] = true
	}
	r.swept = true
	return r.disk.forgetOthers(func(key types.NamespacedName) bool { return exists[key] })
}

// list returns CatalogSources from the cache, which callers must not change.
func (r *Reconciler) list(ctx context.Context, options ...client.ListOption) (*olm.CatalogSourceList, error) {
	out := &olm.CatalogSourceList{}
	if err := r.cache.List(ctx, out, append(options, client.UnsafeDisableDeepCopy)...); err != nil {
		return nil, fmt.Errorf("listing the CatalogSources: %w", err)
	}
	return out, nil
}

// inputs gathers the inputs of a CatalogSource's status.
func (r *Reconciler) inputs(cs *olm.CatalogSource, t target, kubernetes version.Info) catalogsourcestatus.Inputs {
	e := r.Store.state(client.ObjectKeyFromObject(cs))
	in := catalogsourcestatus.Inputs{CatalogSource: cs, Source: t.source(), Template: templateOf(cs, kubernetes), Content: e.Content, Now: time.Now()}
	if e.outcome != nil {
		in.Tried, in.Err = e.outcome.at, e.outcome.err
	}
	if e.reading != nil {
		in.From, in.ConfigMap, in.SignedBy = e.reading.from, e.reading.configMap, e.reading.signedBy
	}
	return in
}

// write updates the status if it changed.
func (r *Reconciler) write(ctx context.Context, cs *olm.CatalogSource, status olm.CatalogSourceStatus) error {
	if equality.Semantic.DeepEqual(status, cs.Status) {
		return nil
	}
	out := cs.DeepCopy()
	out.Status = status
	if err := kube.PatchStatus(ctx, r.cluster, cs, out, client.FieldOwner(FieldOwner)); err != nil {
		return err
	}
	logTransition(ctx, cs.Status.Conditions, status.Conditions)
	return nil
}

// logTransition logs changes of the Healthy condition's status or message.
func logTransition(ctx context.Context, before, after []metav1.Condition) {
	was, is := meta.FindStatusCondition(before, v1alpha1.ConditionHealthy), meta.FindStatusCondition(after, v1alpha1.ConditionHealthy)
	if was == nil || was.Status != is.Status || was.Message != is.Message {
		log.FromContext(ctx).Info("Updated CatalogSource health", "healthy", is.Status, "reason", is.Reason, "message", is.Message)
	}
}

// SetupWithManager enqueues a CatalogSource when it or its ConfigMap changes, when any ImagePolicy changes, and after
// each attempt to read it. ConfigMaps and Secrets are read from the API server when needed; only the metadata of
// ConfigMaps is cached. around wraps the reconciler to run it only in the right mode.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, around func(reconcile.Reconciler) reconcile.Reconciler) error {
	if r.Dir == "" {
		return errors.New("a folder for catalogs is required")
	}
	if r.Limits == (catalog.Limits{}) {
		r.Limits = catalog.DefaultLimits
	}
	if r.Timeout == 0 {
		r.Timeout = 5 * time.Minute
	}
	r.cluster, r.cache, r.live = mgr.GetClient(), mgr.GetCache(), mgr.GetAPIReader()
	r.pollers = map[types.NamespacedName]running{}
	var err error
	if r.disk, err = openDisk(r.Dir); err != nil {
		return err
	}
	r.readers = newReaders(r.Dir, r.Limits)
	return ctrl.NewControllerManagedBy(mgr).
		Named("catalogsource").
		For(&olm.CatalogSource{}, builder.WithPredicates(predicate.Funcs{
			CreateFunc: func(event.CreateEvent) bool { r.oldest.Forget(); return true },
			DeleteFunc: func(event.DeleteEvent) bool { r.oldest.Forget(); return true },
		})).
		WatchesMetadata(configMapMetadata(), handler.EnqueueRequestsFromMapFunc(r.namingConfigMap)).
		Watches(&policyv1alpha1.ImagePolicy{}, handler.EnqueueRequestsFromMapFunc(r.all), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WatchesRawSource(source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
			r.ctx, r.queue = ctx, queue
			return nil
		})).
		Complete(around(r))
}

// Seed adds all CatalogSources to the Store, unread. The resolver must start afterwards: otherwise a CatalogSource that
// has not been reconciled yet would seem to be missing.
func (r *Reconciler) Seed(ctx context.Context) error {
	list, err := r.list(ctx)
	if err != nil {
		return err
	}
	for i := range list.Items {
		r.Store.see(client.ObjectKeyFromObject(&list.Items[i]), list.Items[i].Spec.Priority)
	}
	return nil
}

// all returns requests for the CatalogSources of the cluster.
func (r *Reconciler) all(ctx context.Context, _ client.Object) []reconcile.Request {
	return kube.EnqueueListed[*olm.CatalogSource](ctx, r.cache, &olm.CatalogSourceList{}, nil)
}

// namingConfigMap returns requests for the CatalogSources that name a ConfigMap.
func (r *Reconciler) namingConfigMap(ctx context.Context, cm client.Object) []reconcile.Request {
	names := func(cs *olm.CatalogSource) bool { return cs.Spec.ConfigMap == cm.GetName() }
	return kube.EnqueueListed(ctx, r.cache, &olm.CatalogSourceList{}, names, client.InNamespace(cm.GetNamespace()))
}
