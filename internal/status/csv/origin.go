package csv

import (
	"strings"

	"github.com/blang/semver/v4"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/csvchain"
)

// runningVersion sets the version that runs. During an update that is the old one until the new one has Succeeded. At a
// first install it is empty until then.
func runningVersion(in Inputs, out *v1alpha1.ClusterServiceVersionStatus) {
	own := ownVersion(in.CSV)
	switch {
	case in.Decision.Phase == olm.CSVPhaseSucceeded:
		out.Version = own
	case out.Version == own || in.Replaced == nil: // it has run, or the old version is unknown
	case in.Replaced.Status.Version != v1alpha1.OperatorVersion{}:
		out.Version = in.Replaced.Status.Version
	case in.Replaced.Status.Phase == olm.CSVPhaseSucceeded:
		out.Version = ownVersion(in.Replaced)
	}
}

// ownVersion returns the name and version of the operator in a ClusterServiceVersion, running or not.
func ownVersion(csv *v1alpha1.ClusterServiceVersion) v1alpha1.OperatorVersion {
	pkg := csvchain.PackageOf(csv)
	name, version, _ := strings.Cut(csv.Name, ".v")
	if pkg.Name != "" {
		name = pkg.Name
	}
	if pkg.Version != "" {
		version = pkg.Version
	}
	if declared := csv.Spec.Version.Version; !declared.Equals(semver.Version{}) || len(declared.Build) > 0 {
		version = declared.String()
	}
	return v1alpha1.OperatorVersion{Name: name, Version: version}
}

// relatedObjects lists the Subscription, the InstallPlan and the CatalogSource that the operator was installed from, as
// annotated on the ClusterServiceVersion by the plan.
func relatedObjects(in Inputs, out *v1alpha1.ClusterServiceVersionStatus) {
	out.RelatedObjects = nil
	relate := func(kind, namespace, name string) {
		if name == "" {
			return
		}
		out.RelatedObjects = append(out.RelatedObjects, corev1.ObjectReference{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: kind, Namespace: namespace, Name: name, UID: in.UIDs[kind],
		})
	}
	stamped := in.CSV.Annotations
	relate(v1alpha1.SubscriptionKind, in.CSV.Namespace, stamped[v1alpha1.AnnotationSubscription])
	relate(olm.InstallPlanKind, in.CSV.Namespace, stamped[v1alpha1.AnnotationInstallPlan])
	namespace, name, _ := strings.Cut(stamped[v1alpha1.AnnotationCatalogSource], "/")
	relate(olm.CatalogSourceKind, namespace, name)
}
