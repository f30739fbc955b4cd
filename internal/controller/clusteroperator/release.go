package clusteroperator

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"

	configv1 "github.com/openshift/api/config/v1"
	clusteroperatorstatus "github.com/operator-status/operator-status/internal/status/clusteroperator"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

const (
	// releaseVersion is the environment variable in which the Cluster Version Operator passes the version of the
	// release to its operators.
	releaseVersion = "RELEASE_VERSION"

	clusterVersionCRD = "clusterversions.config.openshift.io"
)

// clusterVersion is the name of the only ClusterVersion.
var clusterVersion = types.NamespacedName{Name: "version"}

// ReadCluster returns a function that reads the ClusterVersion. The release is RELEASE_VERSION in the environment if it
// is set, then that of the ClusterVersion, then own. The reader must be a cache: every call checks whether the kind
// ClusterVersion is served.
func ReadCluster(reader client.Reader, own string) func(context.Context) (clusteroperatorstatus.Cluster, error) {
	return func(ctx context.Context) (clusteroperatorstatus.Cluster, error) {
		version, err := readClusterVersion(ctx, reader)
		if err != nil {
			return clusteroperatorstatus.Cluster{}, err
		}
		out := clusteroperatorstatus.Cluster{Release: cmp.Or(os.Getenv(releaseVersion), own)}
		if version == nil {
			return out, nil
		}
		out.Release = cmp.Or(os.Getenv(releaseVersion), version.Status.Desired.Version, own)
		out.Installing = !slices.ContainsFunc(version.Status.History, func(h configv1.UpdateHistory) bool {
			return h.State == configv1.CompletedUpdate
		})
		return out, nil
	}
}

// readClusterVersion returns nil if the cluster has no ClusterVersion.
func readClusterVersion(ctx context.Context, reader client.Reader) (*configv1.ClusterVersion, error) {
	crd := &apiextensions.CustomResourceDefinition{}
	if err := reader.Get(ctx, types.NamespacedName{Name: clusterVersionCRD}, crd); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	if !apihelpers.IsCRDConditionTrue(crd, apiextensions.Established) {
		return nil, nil
	}
	version := &configv1.ClusterVersion{}
	if err := reader.Get(ctx, clusterVersion, version); apierrors.IsNotFound(err) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("reading the ClusterVersion: %w", err)
	}
	return version, nil
}

// WatchClusterVersion enqueues the ClusterOperator when the ClusterVersion changes. Its CRD must be installed.
func WatchClusterVersion(mgr ctrl.Manager, c controller.Controller) error {
	enqueue := handler.TypedEnqueueRequestsFromMapFunc(toSingleton[*configv1.ClusterVersion])
	return c.Watch(source.Kind(mgr.GetCache(), &configv1.ClusterVersion{}, enqueue))
}
