package annotations

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/status/condition"
)

func annotatedCRD(name string, annotations ...string) *apiextensions.CustomResourceDefinition {
	out := &apiextensions.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{}}}
	for i := 0; i < len(annotations); i += 2 {
		out.Annotations[annotations[i]] = annotations[i+1]
	}
	return out
}

func TestFromAnnotations(t *testing.T) {
	csv := &v1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: "operators", Name: "foo.v1", UID: "u"}}
	var many []*apiextensions.CustomResourceDefinition
	for i := range v1alpha1.MaxProbeResources + 2 {
		many = append(many, annotatedCRD(fmt.Sprintf("c%03d.example.com", i), v1alpha1.AnnotationUpgradeable, "Ready"))
	}
	cases := map[string]struct {
		reason   string
		crds     []*apiextensions.CustomResourceDefinition
		want     []v1alpha1.ProbeResource // nil: no Probe
		count    int
		problems []condition.Problem
	}{
		"NoOptIn": {
			reason: "No Probe is created for CRDs without our annotations, whatever other annotations they have.",
			crds:   []*apiextensions.CustomResourceDefinition{annotatedCRD("a", "olm.operatorframework.io/condition.Other", "A")},
		},
		"Sorted": {
			reason: "The resources of the Probe are sorted by name, whatever the order of the CRDs.",
			crds: []*apiextensions.CustomResourceDefinition{
				annotatedCRD("b", v1alpha1.AnnotationImportant, "B"), annotatedCRD("c"), annotatedCRD("a", v1alpha1.AnnotationUpgradeable, "!A"),
			},
			want: []v1alpha1.ProbeResource{{Name: "a", Upgradeable: "!A"}, {Name: "b", Important: "B"}},
		},
		"InvalidIsLeftOut": {
			reason: "An invalid expression is reported and left out, and the valid annotations are kept.",
			crds: []*apiextensions.CustomResourceDefinition{
				annotatedCRD("a", v1alpha1.AnnotationUpgradeable, "", v1alpha1.AnnotationImportant, "A || B"),
				annotatedCRD("b", v1alpha1.AnnotationImportant, "A && B"),
			},
			want: []v1alpha1.ProbeResource{{Name: "a", Important: "A || B"}, {Name: "b"}},
			problems: []condition.Problem{
				{Reason: v1alpha1.ReasonInvalidExpression, Message: "Annotation olm.operatorframework.io/condition.Upgradeable of CustomResourceDefinition a " +
					"is not a valid expression: position 1: expected a condition type or a field, found the end"},
				{Reason: v1alpha1.ReasonInvalidExpression, Message: "Annotation olm.operatorframework.io/condition.Important of CustomResourceDefinition b " +
					"is not a valid expression: position 3: only || may join condition types and comparisons here"},
			},
		},
		"TooMany": {
			reason: "Annotated CRDs beyond the limit of a Probe are reported by number.",
			crds:   many,
			count:  v1alpha1.MaxProbeResources,
			problems: []condition.Problem{{Reason: v1alpha1.ReasonTooManyResources,
				Message: "66 CustomResourceDefinitions of foo.v1 are annotated and a Probe holds 64: the last 2 by name are not read"}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			probe, problems := Probe(csv, tc.crds)
			if diff := cmp.Diff(tc.problems, problems); diff != "" {
				t.Errorf("%s\nproblems: -want +got\n%s", tc.reason, diff)
			}
			switch {
			case tc.want == nil && tc.count == 0:
				if probe != nil {
					t.Errorf("%s\ngot %+v, want none", tc.reason, probe.Spec)
				}
				return
			case tc.count > 0:
				if n := len(probe.Spec.ProbeResources); n != tc.count {
					t.Errorf("%s\ngot %d resources", tc.reason, n)
				}
				return
			}
			if diff := cmp.Diff(&v1alpha1.ProbeSpec{Manager: v1alpha1.ManagerCRDAnnotations, ProbeResources: tc.want}, probe.Spec); diff != "" {
				t.Errorf("%s\nspec: -want +got\n%s", tc.reason, diff)
			}
			if !OwnedByCSV(probe) || probe.Name != csv.Name || probe.Namespace != csv.Namespace {
				t.Errorf("the Probe is not owned by the ClusterServiceVersion, or has another name: %+v", probe.ObjectMeta)
			}
		})
	}
}
