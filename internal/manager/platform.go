package manager

import (
	"context"
	"fmt"
	"strings"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	platformv1alpha1 "github.com/operator-status/operator-status/api/platform/v1alpha1"
	"github.com/operator-status/operator-status/internal/apply"
	"github.com/operator-status/operator-status/internal/controller/clusteroperator"
	"github.com/operator-status/operator-status/internal/controller/platformoperator"
	platformoperatorstatus "github.com/operator-status/operator-status/internal/status/platformoperator"
)

// ComposerAccount is the name of the service account that applies `spec.resources` of PlatformOperators unless another is
// chosen for it, in the manager's namespace.
const ComposerAccount = "operator-status-composer"

// addPlatform adds the controllers that install PlatformOperators and summarize them in the ClusterOperator.
func addPlatform(ctx context.Context, mgr ctrl.Manager, installed *crdGate, as *accounts, o Options) error {
	catalog, err := namespacedName(o.DefaultCatalog)
	if err != nil {
		return fmt.Errorf("reading the default catalog: %w", err)
	}
	composer := types.NamespacedName{Namespace: o.Namespace, Name: ComposerAccount}
	account := composer
	if o.DefaultResourcesAccount != "" {
		if account, err = namespacedName(o.DefaultResourcesAccount); err != nil {
			return fmt.Errorf("reading the default service account of resources: %w", err)
		}
	}
	watches, err := platformoperator.NewWatches(mgr)
	if err != nil {
		return err
	}
	live, err := as.own()
	if err != nil {
		return fmt.Errorf("creating a client for PlatformOperators: %w", err)
	}
	reserved, err := platformoperatorstatus.ParseReserved(o.ReservedNamespaces)
	if err != nil {
		return fmt.Errorf("reading the reserved namespaces: %w", err)
	}
	reconciler := &platformoperator.Reconciler{
		Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Live: live, As: as.watching, Watches: watches, DefaultCatalog: catalog,
		Composer: apply.Identity(composer), DefaultAccount: apply.Identity(account), Reserved: append(reserved, o.Namespace),
		DegradedInertia: o.DegradedInertia, Now: time.Now,
	}
	kind := platformv1alpha1.GroupVersion.WithKind(platformv1alpha1.PlatformOperatorKind)
	installed.when(func() error {
		if err := platformoperator.IndexCache(ctx, mgr.GetFieldIndexer()); err != nil {
			return err
		}
		c, err := reconciler.SetupWithManager(mgr)
		if err != nil {
			return fmt.Errorf("adding the PlatformOperator controller: %w", err)
		}
		installed.when(func() error { return reconciler.WatchOLM(mgr, c) }, v1alpha1.GroupVersion.WithKind(v1alpha1.SubscriptionKind),
			v1alpha1.GroupVersion.WithKind(v1alpha1.ClusterServiceVersionKind), operatorsv1.GroupVersion.WithKind("OperatorGroup"))
		installed.when(func() error { return reconciler.WatchHolds(mgr, c) }, upgradeHoldKind)
		return nil
	}, kind)
	installed.when(func() error { return addClusterOperator(mgr, installed, o.DegradedInertia) }, kind, configv1.GroupVersion.WithKind("ClusterOperator"))
	return nil
}

// addClusterOperator adds the controller of the ClusterOperator, which the Cluster Version Operator reads.
func addClusterOperator(mgr ctrl.Manager, installed *crdGate, inertia time.Duration) error {
	reconciler := &clusteroperator.Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Cluster: clusteroperator.ReadCluster(mgr.GetClient(), Version), DegradedInertia: inertia, Now: time.Now,
	}
	c, err := reconciler.SetupWithManager(mgr)
	if err != nil {
		return fmt.Errorf("adding the ClusterOperator controller: %w", err)
	}
	installed.when(func() error { return clusteroperator.WatchClusterVersion(mgr, c) }, configv1.GroupVersion.WithKind("ClusterVersion"))
	return nil
}

// namespacedName parses the value of a flag.
func namespacedName(text string) (types.NamespacedName, error) {
	namespace, name, ok := strings.Cut(text, "/")
	if !ok || namespace == "" || name == "" {
		return types.NamespacedName{}, fmt.Errorf("%q is not of the form <namespace>/<name>", text)
	}
	return types.NamespacedName{Namespace: namespace, Name: name}, nil
}
