package workloads

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// TestInputs verifies that a Probe keeps its annotated resources until it is known which CustomResourceDefinitions no ClusterServiceVersion
// owns: a process that starts must not delete it.
func TestInputs(t *testing.T) {
	const foos = "foos.example.com"
	definition := apiextensions.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{
		Name: foos, Annotations: map[string]string{v1alpha1.AnnotationUpgradeable: "!Busy"},
	}}
	own := &v1alpha1.Probe{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{v1alpha1.AnnotationAnnotatedCRDs: foos}},
		Spec:       &v1alpha1.ProbeSpec{ProbeResources: []v1alpha1.ProbeResource{{Name: foos, Upgradeable: "!Migrating"}}},
	}
	cases := map[string]struct {
		reason string
		known  bool
		probe  *v1alpha1.Probe
		want   []v1alpha1.ProbeResource
	}{
		"Known":   {reason: "The annotations count.", known: true, probe: own, want: []v1alpha1.ProbeResource{{Name: foos, Upgradeable: "!Busy"}}},
		"Unknown": {reason: "The Probe stays as it is.", probe: own, want: own.Spec.ProbeResources},
		"None":    {reason: "Nobody gets one before."},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := Declarations{definitions: []apiextensions.CustomResourceDefinition{definition}, known: tc.known}
			if tc.known {
				d.unowned = []*apiextensions.CustomResourceDefinition{&definition}
			}
			got := d.inputs(holdv1alpha1.OperatorReference{}, tc.probe)
			if diff := cmp.Diff(tc.want, got.Annotated); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
			if wantExisting := len(tc.want) > 0; wantExisting != (len(got.Existing) == 1) {
				t.Errorf("%s\nthe existing ones are %v", tc.reason, got.Existing)
			}
		})
	}
}
