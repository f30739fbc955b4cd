package controllers

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer"
)

// TestUnserved verifies that a CustomResourceDefinition whose annotation holds nothing is reported, and no other.
func TestUnserved(t *testing.T) {
	const crd = "foos.example.com"
	definition := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: crd, Annotations: map[string]string{v1alpha1.AnnotationUpgradeable: "!Busy"}}}
	csv := &v1alpha1.ClusterServiceVersion{}
	csv.Spec.CustomResourceDefinitions.Owned = []olm.CRDDescription{{Name: crd}}
	cases := map[string]struct {
		reason  string
		cluster installer.Cluster
		want    []string
	}{
		"Unserved": {reason: "Its author expects it to hold updates.", want: []string{crd}},
		"Served":   {reason: "It holds those of its operator.", cluster: installer.Cluster{Objects: append(bound("", rule("example.com", "*", "*")), deployment("foo", "operator"))}},
		"OfOLM":    {reason: "Also one of OLM.", cluster: installer.Cluster{Objects: []installer.Object{csv}}},
		"Probed": {
			reason:  "A user has named the operator.",
			cluster: installer.Cluster{Objects: []installer.Object{&v1alpha1.Probe{Spec: &v1alpha1.ProbeSpec{ProbeResources: []v1alpha1.ProbeResource{{Name: crd}}}}}},
		},
		"Unread":       {reason: "Nothing is concluded from roles that may not be read.", cluster: installer.Cluster{Unread: []string{"ClusterRoles"}}},
		"UnreadCSVs":   {reason: "Nor from ClusterServiceVersions.", cluster: installer.Cluster{Unread: []string{"ClusterServiceVersions"}}},
		"OneNamespace": {reason: "The operator may run in another namespace.", cluster: installer.Cluster{Namespace: "foo"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			other := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "bars.example.com"}}
			tc.cluster.Objects = slices.Concat(tc.cluster.Objects, []installer.Object{definition, other})
			var got []string
			for _, op := range (Installer{}).Check(tc.cluster) {
				if len(op.Notices) > 0 {
					got = append(got, op.Name)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}
