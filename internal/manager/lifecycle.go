package manager

import (
	"context"
	"fmt"
	"sync"
	"time"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	olmv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/lifecycle"
	"github.com/operator-status/operator-status/internal/lifecycle/catalog"
	"github.com/operator-status/operator-status/internal/lifecycle/csv"
	"github.com/operator-status/operator-status/internal/lifecycle/installplan"
	"github.com/operator-status/operator-status/internal/lifecycle/operatorgroup"
	"github.com/operator-status/operator-status/internal/lifecycle/subscription"
)

// loopKinds are those that the built-in loops work on.
var loopKinds = []schema.GroupVersionKind{
	v1alpha1.GroupVersion.WithKind(v1alpha1.SubscriptionKind),
	v1alpha1.GroupVersion.WithKind(v1alpha1.ClusterServiceVersionKind),
	olmv1alpha1.SchemeGroupVersion.WithKind(olmv1alpha1.InstallPlanKind),
	olmv1alpha1.SchemeGroupVersion.WithKind(olmv1alpha1.CatalogSourceKind),
	operatorsv1.GroupVersion.WithKind("OperatorGroup"),
	operatorsv2.GroupVersion.WithKind("OperatorCondition"),
}

// loops puts the built-in loops together.
type loops struct {
	mgr     ctrl.Manager
	config  *rest.Config
	options Options
	mode    *lifecycle.Switch
	judged  func(*v1alpha1.Probe) bool
}

// start adds the loops, in the order in which the spec goes down. They act only while the mode is theirs.
func (l *loops) start(ctx context.Context) error {
	_, done, err := l.mode.Await(ctx, lifecycle.Builtin)
	if err != nil {
		return nil //nolint:nilerr // the manager ended before it was ever ours to run them
	}
	done()
	around := func(r reconcile.Reconciler) reconcile.Reconciler { return l.mode.While(lifecycle.Builtin, r) }
	c, reader, global := l.mgr.GetClient(), l.mgr.GetAPIReader(), l.options.GlobalCatalogNamespace
	asks, err := discovery.NewDiscoveryClientForConfig(l.config)
	if err != nil {
		return fmt.Errorf("making a discovery client: %w", err)
	}
	kubernetes, err := asks.ServerVersion()
	if err != nil {
		return fmt.Errorf("asking the API server for its version: %w", err)
	}
	store := catalog.NewStore(global)
	impersonate := (&accounts{config: l.config, mgr: l.mgr}).client
	catalogs := &catalog.Reconciler{Store: store, Dir: l.options.CatalogDir}
	subscriptions := &subscription.Reconciler{Client: c, Cache: l.mgr.GetCache(), Catalogs: store, GlobalNamespace: global, Now: time.Now}
	vouchers := &installplan.Vouchers{}
	plans := &installplan.Reconciler{
		Client: c, Reader: reader, As: impersonate, Catalogs: store, Vouchers: vouchers, GlobalNamespace: global,
		Judged: l.judged, Recorder: l.mgr.GetEventRecorder(UserAgent), Now: time.Now,
	}
	groups := &operatorgroup.Reconciler{Client: c, Now: time.Now}
	csvs := &csv.Reconciler{
		Client: c, Reader: reader, As: impersonate, Vouchers: vouchers, GlobalNamespace: global,
		Kubernetes: *kubernetes, Discovery: asks, Now: time.Now,
	}
	for _, setup := range []func() error{
		func() error { return catalogs.SetupWithManager(l.mgr, around) },
		func() error { return subscriptions.SetupWithManager(l.mgr, around) },
		func() error { return plans.SetupWithManager(l.mgr, store.Changes, around) },
		func() error { return groups.SetupWithManager(l.mgr, around) },
		func() error { return csvs.SetupWithManager(ctx, l.mgr, around) },
	} {
		if err := setup(); err != nil {
			return fmt.Errorf("adding the built-in loops: %w", err)
		}
	}
	return nil
}

// accounts are clients that act as service accounts.
type accounts struct {
	config *rest.Config
	mgr    ctrl.Manager
	byName sync.Map
}

// client is one that acts as a service account, which must exist: impersonation does not ask.
func (a *accounts) client(account types.NamespacedName) (client.Client, error) {
	found := &metav1.PartialObjectMetadata{}
	found.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ServiceAccount"))
	if err := a.mgr.GetClient().Get(context.Background(), account, found); err != nil {
		return nil, fmt.Errorf("finding service account %s, as which the OperatorGroup has operators installed: %w", account, err)
	}
	if c, ok := a.byName.Load(account); ok {
		return c.(client.Client), nil
	}
	config := rest.CopyConfig(a.config)
	config.Impersonate = rest.ImpersonationConfig{
		UserName: fmt.Sprintf("system:serviceaccount:%s:%s", account.Namespace, account.Name),
		Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:" + account.Namespace, "system:authenticated"},
	}
	out, err := client.New(config, client.Options{Scheme: a.mgr.GetScheme(), Mapper: a.mgr.GetRESTMapper()})
	if err != nil {
		return nil, fmt.Errorf("making a client that acts as service account %s: %w", account, err)
	}
	a.byName.Store(account, out)
	return out, nil
}
