package clusteroperator

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"

	configv1 "github.com/openshift/api/config/v1"
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
	// releaseVersion is the environment variable by which the Cluster Version Operator tells the operators of a release
	// which it is.
	releaseVersion = "RELEASE_VERSION"

	clusterVersionCRD = "clusterversions.config.openshift.io"
)

// clusterVersion is the one there is.
var clusterVersion = types.NamespacedName{Name: "version"}

// Cluster is what the ClusterVersion reports of the cluster.
type Cluster struct {
	// Release is the one that the cluster is on, or is being updated to. Where it is empty no version is written.
	Release string

	// Installing is true until the first installation of the cluster has completed: there is a ClusterVersion whose
	// history has no Completed entry at all.
	Installing bool
}

// ReadCluster returns a function that reads the ClusterVersion. RELEASE_VERSION in the environment takes precedence as the
// release, and own stands in where neither names one. The reader is of a cache: whether the kind ClusterVersion is served
// is checked at every call.
func ReadCluster(reader client.Reader, own string) func(context.Context) (Cluster, error) {
	return func(ctx context.Context) (Cluster, error) {
		version, err := readClusterVersion(ctx, reader)
		if err != nil {
			return Cluster{}, err
		}
		out := Cluster{Release: cmp.Or(os.Getenv(releaseVersion), own)}
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

// readClusterVersion returns nil where the cluster has no ClusterVersion.
func readClusterVersion(ctx context.Context, reader client.Reader) (*configv1.ClusterVersion, error) {
	crd := &apiextensions.CustomResourceDefinition{}
	if err := reader.Get(ctx, types.NamespacedName{Name: clusterVersionCRD}, crd); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	if !slices.ContainsFunc(crd.Status.Conditions, func(c apiextensions.CustomResourceDefinitionCondition) bool {
		return c.Type == apiextensions.Established && c.Status == apiextensions.ConditionTrue
	}) {
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

// WatchClusterVersion has the ClusterOperator looked at when the ClusterVersion changes, whose kind is installed by now.
func WatchClusterVersion(mgr ctrl.Manager, c controller.Controller) error {
	enqueue := handler.TypedEnqueueRequestsFromMapFunc(toSingleton[*configv1.ClusterVersion])
	return c.Watch(source.Kind(mgr.GetCache(), &configv1.ClusterVersion{}, enqueue))
}
