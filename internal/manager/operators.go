package manager

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/annotations"
	"github.com/operator-status/operator-status/internal/controller/clusterextension"
	"github.com/operator-status/operator-status/internal/controller/probe"
	upgradeholdcontroller "github.com/operator-status/operator-status/internal/controller/upgradehold"
	"github.com/operator-status/operator-status/internal/controller/upgradeholdpolicy"
	"github.com/operator-status/operator-status/internal/installer"
	"github.com/operator-status/operator-status/internal/installer/flux"
	"github.com/operator-status/operator-status/internal/installer/helm"
	"github.com/operator-status/operator-status/internal/installer/olmv1"
	"github.com/operator-status/operator-status/internal/installer/workload"
	"github.com/operator-status/operator-status/internal/operand"
	"github.com/operator-status/operator-status/internal/upgradehold"
	"github.com/operator-status/operator-status/internal/workloads"
)

// operators finds the operators that no ClusterServiceVersion describes.
type operators struct {
	workloads.Cache

	// definitions has the CustomResourceDefinitions and UpgradeHolds.
	definitions client.Reader

	// live bypasses caches.
	live client.Reader
}

func newOperators(mgr ctrl.Manager) (operators, error) {
	options := workloads.Options()
	options.HTTPClient, options.Scheme, options.Mapper = mgr.GetHTTPClient(), mgr.GetScheme(), mgr.GetRESTMapper()
	c, err := cache.New(mgr.GetConfig(), options)
	if err != nil {
		return operators{}, fmt.Errorf("creating the cache of workloads: %w", err)
	}
	return operators{workloads.New(c), mgr.GetClient(), mgr.GetAPIReader()}, mgr.Add(c)
}

// find returns an operator, or nil if no version of it has run.
func (o operators) find(ctx context.Context, of holdv1alpha1.OperatorReference) (*installer.Installed, error) {
	marked, err := o.Owned(ctx, of)
	if err != nil {
		return nil, err
	}
	// Whoever may create workloads elsewhere can give them the marks of this operator.
	running := slices.DeleteFunc(slices.Clone(marked), func(w installer.Workload) bool { return w.Namespace != of.Namespace })
	storage, err := o.storage(ctx, of, running, marked)
	if err != nil {
		return nil, err
	}
	out, err := o.installed(ctx, of, running, storage)
	if out != nil {
		out.Conditions = installer.ConditionsOf(running)
	}
	return out, err
}

// storage returns the namespace of the records of a Helm release: that of the HelmRelease if Flux installs it. The labels of a
// tenant's workload can name any HelmRelease, so there have to be a record of the release and a HelmRelease that installs it. Workloads of
// other namespaces, which are marked, count only if the release has neither workloads that run in its own, nor records there.
func (o operators) storage(ctx context.Context, of holdv1alpha1.OperatorReference, running, marked []installer.Workload) (string, error) {
	by := helm.ReleasedBy(of, running)
	if len(running) == 0 {
		by = helm.ReleasedBy(of, marked)
		if own, err := o.isRecorded(ctx, of, of.Namespace); len(by) == 0 || own || err != nil {
			return of.Namespace, err
		}
	}
	for _, key := range by {
		if recorded, err := o.isRecorded(ctx, of, key.Namespace); err != nil {
			return "", err
		} else if !recorded {
			continue
		}
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(installer.HelmRelease)
		switch err := o.live.Get(ctx, key, object); {
		case apierrors.IsNotFound(err), apierrors.IsForbidden(err), meta.IsNoMatchError(err):
			if denied, err := o.isDenied(ctx, of, key.Namespace); denied || err != nil {
				return key.Namespace, err
			}
		case err != nil:
			return "", fmt.Errorf("getting HelmRelease %s: %w", key, err)
		case flux.Release(object) == types.NamespacedName{Namespace: of.Namespace, Name: of.Name}:
			return key.Namespace, nil
		}
	}
	return of.Namespace, nil
}

// isRecorded reports whether a namespace has a record of a release.
func (o operators) isRecorded(ctx context.Context, of holdv1alpha1.OperatorReference, namespace string) (bool, error) {
	records, err := o.Records(ctx, namespace)
	return slices.ContainsFunc(records, func(r metav1.PartialObjectMetadata) bool { return helm.IsRecord(&r, of.Name) }), err
}

// isDenied reports whether an UpgradeHold of a release denies its records in a namespace already. The HelmRelease may be away for a while.
func (o operators) isDenied(ctx context.Context, of holdv1alpha1.OperatorReference, namespace string) (bool, error) {
	holds := &holdv1alpha1.UpgradeHoldList{}
	if err := o.definitions.List(ctx, holds, client.UnsafeDisableDeepCopy); err != nil {
		return false, fmt.Errorf("listing the UpgradeHolds: %w", err)
	}
	return slices.ContainsFunc(holds.Items, func(h holdv1alpha1.UpgradeHold) bool {
		denied := h.Status.Denied
		return h.Spec.Operator == of && denied != nil && denied.Revisions != nil && denied.Revisions.Namespace == namespace
	}), nil
}

// installed describes an operator that runs in workloads, or in none. The records of a Helm release are in the namespace storage.
func (o operators) installed(ctx context.Context, of holdv1alpha1.OperatorReference, running []installer.Workload, storage string) (
	*installer.Installed, error,
) {
	switch of.Installer {
	case holdv1alpha1.InstallerWorkload:
		named, err := o.Named(ctx, types.NamespacedName{Namespace: of.Namespace, Name: of.Name}) // also one with the marks of another installer
		return workload.Find(of, named), err
	case holdv1alpha1.InstallerHelm:
		records, err := o.Records(ctx, storage)
		if err != nil {
			return nil, err
		}
		return helm.Find(of, storage, records, running).Installed(), nil
	case holdv1alpha1.InstallerOLMv1:
		extension, err := o.extension(ctx, of.Name)
		if err != nil || extension == nil {
			return nil, err
		}
		if clusterextension.Namespace(extension) != of.Namespace {
			return nil, nil
		}
		return olmv1.Find(of, extension, running), nil
	case holdv1alpha1.InstallerOLM:
	}
	return nil, nil
}

// extension returns a ClusterExtension, or nil if it does not exist or OLM v1 is not installed.
func (o operators) extension(ctx context.Context, name string) (*unstructured.Unstructured, error) {
	out := clusterextension.Object()
	if served, err := operand.IsServed(ctx, o.definitions, olmv1.Definition, olmv1.Kind.Version); !served || err != nil {
		return nil, err
	}
	if err := o.Get(ctx, types.NamespacedName{Name: name}, out); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return out, nil
}

// kinds returns an object of each kind that find reads.
func (operators) kinds() []client.Object { return append(workloads.Kinds(), workloads.Record()) }

// of returns the operators that an object may be a part of.
func (o operators) of(ctx context.Context, part client.Object) []holdv1alpha1.OperatorReference {
	if record, ok := part.(*metav1.PartialObjectMetadata); ok {
		return o.OfRecord(ctx, record)
	}
	w, ok := installer.WorkloadOf(part)
	if !ok {
		return nil
	}
	return slices.Concat(olmv1.OfWorkload(w), helm.OfWorkload(w), workload.OfWorkload(w))
}

// addHolds adds the controller of the UpgradeHolds of these operators.
func addHolds(ctx context.Context, mgr ctrl.Manager, installed *crdGate, o Options, found operators, owners *annotations.Owners,
	index *upgradehold.Index, records cache.Cache,
) error {
	if err := workloads.IndexProbes(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	policies := workloads.Policies{Client: mgr.GetClient(), Cache: found.Cache, Owners: owners, Namespace: o.Namespace}
	r := &upgradeholdcontroller.Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Operators: found.find, Changes: found.Cache, Kinds: found.kinds(), Parts: found.of,
		Holds: newHoldWriter(mgr, o, index), Policies: policies, Index: records,
	}
	if err := r.SetupWithManager(mgr); err != nil {
		return fmt.Errorf("adding the controller of UpgradeHolds: %w", err)
	}
	if err := (&upgradeholdcontroller.IndexReconciler{Index: index, Parts: records}).SetupWithManager(mgr); err != nil {
		return fmt.Errorf("adding the controller of the index of UpgradeHolds: %w", err)
	}
	probes := &probe.OperatorReconciler{Client: mgr.GetClient(), Policies: policies, Reconsider: r.Reconsider}
	if err := probes.SetupWithManager(mgr); err != nil {
		return fmt.Errorf("adding the controller of the Probes of operators: %w", err)
	}
	installed.when(func() error {
		if err := owners.Index(ctx, mgr.GetFieldIndexer()); err != nil {
			return err
		}
		return probes.WatchCSVs(mgr.GetCache())
	}, v1alpha1.GroupVersion.WithKind(v1alpha1.ClusterServiceVersionKind))
	holdPolicies := &upgradeholdpolicy.Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Workloads: found.Cache, Namespace: o.Namespace, Now: time.Now,
	}
	installed.when(func() error {
		if err := holdPolicies.SetupWithManager(mgr); err != nil {
			return fmt.Errorf("adding the UpgradeHoldPolicy controller: %w", err)
		}
		installed.when(func() error { return holdPolicies.WatchSubscriptions(mgr) }, v1alpha1.GroupVersion.WithKind(v1alpha1.SubscriptionKind))
		return nil
	}, holdPolicyKind)
	installed.when(func() error { return r.WatchConditions(mgr.GetCache(), found.OfCondition) }, operatorConditionKind)
	installed.when(func() error {
		extensions := &clusterextension.Reconciler{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Installed: found.Cache}
		if err := extensions.SetupWithManager(mgr); err != nil {
			return fmt.Errorf("adding the controller of ClusterExtensions: %w", err)
		}
		installed.when(func() error { return extensions.WatchConditions(mgr.GetCache()) }, operatorConditionKind)
		return r.WatchNamed(clusterextension.Object(), holdv1alpha1.InstallerOLMv1)
	}, olmv1.Kind)
	return nil
}

func newHoldWriter(mgr ctrl.Manager, o Options, index *upgradehold.Index) *upgradehold.Writer {
	return &upgradehold.Writer{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Recorder: mgr.GetEventRecorder(UserAgent), Namespace: o.Namespace, Now: time.Now,
		Index: index,
	}
}
