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

// Release is the one that the cluster is on, or on its way to: that of the environment, else of the ClusterVersion, else
// our own. The reader is of a cache: whether the kind ClusterVersion is installed is asked every time.
func Release(reader client.Reader, own string) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		if release := os.Getenv(releaseVersion); release != "" {
			return release, nil
		}
		desired, err := desiredRelease(ctx, reader)
		return cmp.Or(desired, own), err
	}
}

// desiredRelease is that of the ClusterVersion; empty where there is none.
func desiredRelease(ctx context.Context, reader client.Reader) (string, error) {
	crd := &apiextensions.CustomResourceDefinition{}
	if err := reader.Get(ctx, types.NamespacedName{Name: clusterVersionCRD}, crd); err != nil {
		return "", client.IgnoreNotFound(err)
	}
	if !slices.ContainsFunc(crd.Status.Conditions, func(c apiextensions.CustomResourceDefinitionCondition) bool {
		return c.Type == apiextensions.Established && c.Status == apiextensions.ConditionTrue
	}) {
		return "", nil
	}
	version := &configv1.ClusterVersion{}
	if err := reader.Get(ctx, clusterVersion, version); err != nil {
		if apierrors.IsNotFound(err) {
			return "", nil
		}
		return "", fmt.Errorf("reading the ClusterVersion: %w", err)
	}
	return version.Status.Desired.Version, nil
}

// WatchClusterVersion has the ClusterOperator looked at when the ClusterVersion changes, whose kind is installed by now.
func WatchClusterVersion(mgr ctrl.Manager, c controller.Controller) error {
	enqueue := handler.TypedEnqueueRequestsFromMapFunc(toSingleton[*configv1.ClusterVersion])
	return c.Watch(source.Kind(mgr.GetCache(), &configv1.ClusterVersion{}, enqueue))
}
