package manager

import (
	"context"
	"fmt"
	"time"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	olmv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	registry "sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	policyv1alpha1 "github.com/operator-status/operator-status/api/policy/v1alpha1"
	"github.com/operator-status/operator-status/internal/apply"
	"github.com/operator-status/operator-status/internal/installer/builtin/catalog/store"
	"github.com/operator-status/operator-status/internal/installer/builtin/csv"
	"github.com/operator-status/operator-status/internal/installer/builtin/installplan"
	"github.com/operator-status/operator-status/internal/installer/builtin/operatorgroup"
	"github.com/operator-status/operator-status/internal/installer/builtin/record"
	"github.com/operator-status/operator-status/internal/installer/builtin/subscription"
	"github.com/operator-status/operator-status/internal/lifecycle"
	"github.com/operator-status/operator-status/internal/metrics"
	"github.com/operator-status/operator-status/internal/optin"
)

// loopKinds are the kinds that the built-in loops work on.
var loopKinds = []schema.GroupVersionKind{
	v1alpha1.GroupVersion.WithKind(v1alpha1.SubscriptionKind),
	v1alpha1.GroupVersion.WithKind(v1alpha1.ClusterServiceVersionKind),
	olmv1alpha1.SchemeGroupVersion.WithKind(olmv1alpha1.InstallPlanKind),
	olmv1alpha1.SchemeGroupVersion.WithKind(olmv1alpha1.CatalogSourceKind),
	operatorsv1.GroupVersion.WithKind("OperatorGroup"),
	operatorConditionKind,
}

// operatorConditionKind is served by OLM and the built-in loops, or because an admin has installed it.
var operatorConditionKind = operatorsv2.GroupVersion.WithKind("OperatorCondition")

// policyKind restricts the reads of the built-in loops, so they do not start before it is served.
var policyKind = policyv1alpha1.GroupVersion.WithKind(policyv1alpha1.ImagePolicyKind)

// These are part of every installation, so whatever holds updates does not start before they are served.
var (
	upgradeHoldKind = holdv1alpha1.GroupVersion.WithKind(holdv1alpha1.UpgradeHoldKind)
	probePolicyKind = holdv1alpha1.GroupVersion.WithKind(holdv1alpha1.ProbePolicyKind)
	holdPolicyKind  = holdv1alpha1.GroupVersion.WithKind(holdv1alpha1.UpgradeHoldPolicyKind)
	holdKinds       = []schema.GroupVersionKind{upgradeHoldKind, probePolicyKind, holdPolicyKind}
)

// loops assembles the built-in loops.
type loops struct {
	mgr      ctrl.Manager
	accounts *accounts
	options  Options
	mode     *lifecycle.Switch
	newCache cache.NewCacheFunc

	// probeReader returns the identity of the process that reads custom resources.
	probeReader func(context.Context) (string, error)
}

// start adds the loops, in the order from catalogs to ClusterServiceVersions. They act only while the mode is Builtin.
func (l *loops) start(ctx context.Context) error {
	_, done, err := l.mode.Await(ctx, lifecycle.Builtin)
	if err != nil {
		return nil // the manager ended before it was ever ours to run them
	}
	done()
	onlyInMode := func(r reconcile.Reconciler) reconcile.Reconciler {
		return l.mode.While(lifecycle.Builtin, lifecycle.TolerateTerminating(r))
	}
	mgr, err := asLifecycle(ctx, l.mgr, l.options, l.newCache)
	if err != nil {
		return err
	}
	c, reader, global := mgr.GetClient(), mgr.GetAPIReader(), l.options.GlobalCatalogNamespace
	discoveryClient, err := discovery.NewDiscoveryClientForConfig(mgr.GetConfig())
	if err != nil {
		return fmt.Errorf("creating a discovery client: %w", err)
	}
	contents := store.NewStore(global)
	impersonate := l.accounts.installer
	reach := store.Reach{Trusts: l.options.trust.Trusts, Allowed: l.options.allowed, Plaintext: store.ParsePlaintext(l.options.CatalogPlaintext),
		RequireDigests: l.options.RequireDigests}
	if reach.APIServer, err = apiServerAddresses(ctx, mgr.GetConfig(), reader); err != nil {
		return err
	}
	catalogs := &store.Reconciler{Store: contents, Dir: l.options.CatalogDir, Reach: reach, Discovery: discoveryClient}
	signatures := &store.PolicyReconciler{Catalogs: catalogs, Now: time.Now}
	records := &record.Store{Client: c, Live: reader, Namespace: l.options.Namespace}
	recorder := mgr.GetEventRecorder(UserAgent)
	resolved, err := metrics.NewResolution(registry.Registry)
	if err != nil {
		return fmt.Errorf("registering the metric of resolutions: %w", err)
	}
	subscriptions := &subscription.Reconciler{
		Client: c, Reader: reader, Catalogs: contents, Records: records, GlobalNamespace: global, Recorder: recorder, Resolved: resolved,
		Now: time.Now,
	}
	rights := apply.NewRights(mgr)
	plans := &installplan.Reconciler{
		Client: c, Reader: reader, As: impersonate, Catalogs: contents, Kubernetes: discoveryClient, Records: records, Trust: l.options.trust, Rights: rights,
		OptIns: &optin.Store{Reader: reader, Writer: c, Namespace: l.options.Namespace},
		Live:   liveReads(mgr, l.options), ProbeReader: l.probeReader, HideForeignNames: l.options.HideForeignNames, Recorder: recorder, Now: time.Now,
	}
	groups := &operatorgroup.Reconciler{Client: c, Now: time.Now}
	csvs := &csv.Reconciler{
		Client: c, Reader: reader, As: impersonate, Records: records, Trust: l.options.trust, Rights: rights,
		Recorder: recorder, Discovery: discoveryClient, Now: time.Now,
	}
	for _, setup := range []func() error{
		func() error { return catalogs.SetupWithManager(mgr, onlyInMode) },
		func() error { return signatures.SetupWithManager(mgr, onlyInMode) },
		func() error { return catalogs.Seed(ctx) },
		func() error { return subscriptions.SetupWithManager(mgr, onlyInMode) },
		func() error { return plans.SetupWithManager(mgr, contents.Changes, onlyInMode) },
		func() error { return groups.SetupWithManager(mgr, onlyInMode) },
		func() error { return csvs.SetupWithManager(ctx, mgr, onlyInMode) },
	} {
		if err := setup(); err != nil {
			return fmt.Errorf("adding the built-in loops: %w", err)
		}
	}
	return nil
}
