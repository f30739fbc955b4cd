package clusteroperator

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"

	clusteroperatorstatus "github.com/operator-status/operator-status/internal/status/clusteroperator"
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
		out := clusteroperatorstatus.Cluster{Release: cmp.Or(os.Getenv(releaseVersion), own), Reached: true}
		if version == nil {
			return out, nil
		}
		out.Release = cmp.Or(os.Getenv(releaseVersion), version.Status.Desired.Version, own)
		completed := slices.IndexFunc(version.Status.History, func(h configv1.UpdateHistory) bool { return h.State == configv1.CompletedUpdate })
		if out.Installing = completed < 0; !out.Installing {
			out.Former = version.Status.History[completed].Version
		}
		out.Reached = reached(&version.Status, out.Release)
		return out, nil
	}
}

// reached reports whether the Cluster Version Operator has completed a release, or is on the way to it and reports
// that it waits for the ClusterOperator. It does so in Progressing or, if several reasons keep it from proceeding, in
// Failing. Within a component it applies the manifests before it waits for the ClusterOperator.
func reached(status *configv1.ClusterVersionStatus, release string) bool {
	if len(status.History) == 0 || status.History[0].Version != release {
		return false
	}
	if status.History[0].State == configv1.CompletedUpdate {
		return true
	}
	return slices.ContainsFunc(status.Conditions, func(c configv1.ClusterOperatorStatusCondition) bool {
		reports := c.Type == configv1.OperatorProgressing || c.Type == clusterVersionFailing
		return reports && c.Status == configv1.ConditionTrue && slices.Contains(strings.FieldsFunc(c.Message, outsideName), singleton.Name)
	})
}

// clusterVersionFailing is the type of a condition of the ClusterVersion. The API has no constant for it.
const clusterVersionFailing configv1.ClusterStatusConditionType = "Failing"

// outsideName reports whether a character cannot be part of the name of a ClusterOperator, except for a period, which
// also ends sentences.
func outsideName(c rune) bool { return c != '-' && (c < 'a' || c > 'z') && (c < '0' || c > '9') }

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
