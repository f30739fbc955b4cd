package csv

import (
	"testing"

	"github.com/blang/semver/v4"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/csvchain"
)

func TestOwnVersion(t *testing.T) {
	of := func(name, properties, spec string) v1alpha1.OperatorVersion {
		csv := &v1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{csvchain.AnnotationProperties: properties}}}
		if spec != "" {
			csv.Spec.Version.Version = semver.MustParse(spec)
		}
		return ownVersion(csv)
	}
	const pkg = `{"properties":[{"type":"olm.package","value":"etcd"},{"type":"olm.package","value":{"packageName":"etcd","version":"0.9.2"}}]}`
	cases := map[string]struct {
		reason string
		got    v1alpha1.OperatorVersion
		want   v1alpha1.OperatorVersion
	}{
		"Package": {"The name is taken from the package and the version from the spec.", of("etcdoperator.v0.9.2", pkg, "0.9.2-r1+b2"),
			v1alpha1.OperatorVersion{Name: "etcd", Version: "0.9.2-r1+b2"}},
		"NoSpecVersion": {"Without a version in the spec, that of the package is used.", of("etcdoperator.v0.9", pkg, ""),
			v1alpha1.OperatorVersion{Name: "etcd", Version: "0.9.2"}},
		"NameAlone": {"Without a package, both are taken from the name of the CSV.", of("etcdoperator.v0.9.2.vx", "", ""),
			v1alpha1.OperatorVersion{Name: "etcdoperator", Version: "0.9.2.vx"}},
		"NoVersionInName": {"The version is taken from the spec if the name of the CSV has none.", of("etcdoperator", "", "1.2.3"), v1alpha1.OperatorVersion{Name: "etcdoperator", Version: "1.2.3"}},
		"Garbage": {"An annotation that is not JSON is ignored.", of("etcdoperator.v1.0.0", `{"properties":`, ""),
			v1alpha1.OperatorVersion{Name: "etcdoperator", Version: "1.0.0"}},
		"Null": {"A property that is null is ignored.", of("etcdoperator.v1.0.0", `{"properties":[null,{"type":"olm.package","value":null}]}`, ""),
			v1alpha1.OperatorVersion{Name: "etcdoperator", Version: "1.0.0"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.got); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
		})
	}
}

func TestRelatedObjects(t *testing.T) {
	csv := etcd("1.0.0")
	csv.Annotations[v1alpha1.AnnotationSubscription] = "etcd"
	csv.Annotations[v1alpha1.AnnotationInstallPlan] = "install-1"
	csv.Annotations[v1alpha1.AnnotationCatalogSource] = "global/operators"
	in := Inputs{CSV: csv, Decision: succeeded, UIDs: map[string]types.UID{"Subscription": "1234"}, Now: now}
	got := Compute(in)
	const group = "operators.coreos.com/v1alpha1"
	want := []corev1.ObjectReference{
		{APIVersion: group, Kind: "Subscription", Namespace: "default", Name: "etcd", UID: "1234"},
		{APIVersion: group, Kind: "InstallPlan", Namespace: "default", Name: "install-1"},
		{APIVersion: group, Kind: "CatalogSource", Namespace: "global", Name: "operators"},
	}
	if diff := cmp.Diff(want, got.RelatedObjects); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	checkStable(t, in, got)

	in.CSV.Status = got
	in.CSV.Annotations = map[string]string{v1alpha1.AnnotationCatalogSource: "of no namespace"}
	if got := Compute(in).RelatedObjects; len(got) != 0 {
		t.Errorf("related objects without valid annotations: %v", got)
	}
}
