package manager

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ctrl "sigs.k8s.io/controller-runtime"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	upgradeholdcontroller "github.com/operator-status/operator-status/internal/controller/upgradehold"
	"github.com/operator-status/operator-status/internal/installer"
	"github.com/operator-status/operator-status/internal/installer/helm"
	"github.com/operator-status/operator-status/internal/installer/workload"
	"github.com/operator-status/operator-status/internal/upgradehold"
	"github.com/operator-status/operator-status/internal/workloads"
)

// operators finds the operators that no ClusterServiceVersion describes.
type operators struct{ workloads.Cache }

func newOperators(mgr ctrl.Manager) (operators, error) {
	options := workloads.Options()
	options.HTTPClient, options.Scheme, options.Mapper = mgr.GetHTTPClient(), mgr.GetScheme(), mgr.GetRESTMapper()
	c, err := cache.New(mgr.GetConfig(), options)
	if err != nil {
		return operators{}, fmt.Errorf("creating the cache of workloads: %w", err)
	}
	return operators{workloads.Cache{Cache: c}}, mgr.Add(c)
}

// find returns an operator, or nil if no version of it has run.
func (o operators) find(ctx context.Context, of holdv1alpha1.OperatorReference) (*installer.Installed, error) {
	running, err := o.In(ctx, of.Namespace)
	if err != nil {
		return nil, err
	}
	switch of.Installer {
	case holdv1alpha1.InstallerHelm:
		records, err := o.Records(ctx, of.Namespace)
		if err != nil {
			return nil, err
		}
		return helm.Find(of, records, running).Installed(), nil
	case holdv1alpha1.InstallerWorkload:
		return workload.Find(of, running), nil
	case holdv1alpha1.InstallerOLM:
	}
	return nil, nil
}

// kinds returns an object of each kind that find reads.
func (operators) kinds() []client.Object { return append(workloads.Kinds(), workloads.Record()) }

// of returns the operators that an object may be a part of.
func (operators) of(o client.Object) []holdv1alpha1.OperatorReference {
	if record, ok := o.(*metav1.PartialObjectMetadata); ok {
		return helm.OfRecord(record)
	}
	w, ok := installer.WorkloadOf(o)
	if !ok {
		return nil
	}
	return append(helm.OfWorkload(w), workload.Of(w)...)
}

// addHolds adds the controller of the UpgradeHolds of these operators.
func addHolds(mgr ctrl.Manager, o Options, found operators) error {
	r := &upgradeholdcontroller.Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Operators: found.find, Changes: found.Cache, Kinds: found.kinds(), Parts: found.of,
		Holds: newHoldWriter(mgr, o),
	}
	if err := r.SetupWithManager(mgr); err != nil {
		return fmt.Errorf("adding the controller of UpgradeHolds: %w", err)
	}
	return nil
}

func newHoldWriter(mgr ctrl.Manager, o Options) *upgradehold.Writer {
	return &upgradehold.Writer{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Recorder: mgr.GetEventRecorder(UserAgent), Namespace: o.Namespace, Now: time.Now,
	}
}
