package store

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	catalogsourcestatus "github.com/operator-status/operator-status/internal/status/catalogsource"
)

func TestImageTemplate(t *testing.T) {
	const unresolved = "cannot construct catalog image reference, because "
	resolved := func(image string) []metav1.Condition {
		return []metav1.Condition{
			{
				Type: v1alpha1.ConditionTemplatesHaveResolved, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonAllTemplatesResolved,
				Message: "catalog image reference was successfully resolved",
			},
			{Type: v1alpha1.ConditionResolvedImage, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonAllTemplatesResolved, Message: image},
		}
	}
	failed := func(image, problem string) []metav1.Condition {
		return []metav1.Condition{
			{Type: v1alpha1.ConditionTemplatesHaveResolved, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonUnableToResolve, Message: problem},
			{Type: v1alpha1.ConditionResolvedImage, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonUnableToResolve, Message: image},
		}
	}
	spec := olm.CatalogSourceSpec{SourceType: olm.SourceTypeGrpc, Image: "example.com/catalog:old"}
	tests := map[string]struct {
		reason     string
		template   string
		spec       olm.CatalogSourceSpec
		kubernetes string
		before     []metav1.Condition
		read       string
		want       []metav1.Condition
	}{
		"none": {
			reason: "Without the annotation the image of the spec is read, and the conditions of the template are removed.",
			spec:   spec,
			before: resolved("example.com/catalog:v1.31"),
			read:   "image example.com/catalog:old",
		},
		"all variables": {
			reason:   "The image of the annotation is read instead of the spec's.",
			template: "example.com/catalog:v{kube_major_version}.{kube_minor_version}.{kube_patch_version}",
			spec:     spec, kubernetes: "v1.31.4",
			read: "image example.com/catalog:v1.31.4",
			want: resolved("example.com/catalog:v1.31.4"),
		},
		"another build": {
			reason:   "Suffixes of the version that vendors add are left out.",
			template: "example.com/catalog:v{kube_major_version}.{kube_minor_version}",
			spec:     spec, kubernetes: "v1.31.4-eks-1de2ab1+bd9e442",
			read: "image example.com/catalog:v1.31",
			want: resolved("example.com/catalog:v1.31"),
		},
		"no variable": {
			reason:   "A template without variables is an image.",
			template: "example.com/catalog:new",
			spec:     spec, kubernetes: "v1.31.4",
			read: "image example.com/catalog:new",
			want: resolved("example.com/catalog:new"),
		},
		"without an image in the spec": {
			reason:   "With the annotation an image in the spec is not required, since OLM fills it in.",
			template: "example.com/catalog:v{kube_minor_version}",
			spec:     olm.CatalogSourceSpec{SourceType: olm.SourceTypeGrpc}, kubernetes: "v1.31.4",
			read: "image example.com/catalog:v31",
			want: resolved("example.com/catalog:v31"),
		},
		"unknown variable": {
			reason:   "An unknown variable is reported, and the image of the spec is read.",
			template: "example.com/catalog:{foobar}",
			spec:     spec, kubernetes: "v1.31.4",
			read: "image example.com/catalog:old",
			want: failed("example.com/catalog:{foobar}",
				unresolved+"one or more template(s) has improper syntax: could not parse reference: example.com/catalog:{foobar}"),
		},
		"no version": {
			reason:   "Each variable without a value is reported.",
			template: "example.com/catalog:{kube_major_version}.{kube_minor_version}",
			spec:     spec, kubernetes: "devel",
			read: "image example.com/catalog:old",
			want: failed("example.com/catalog:missing.missing",
				unresolved+`variable(s) "{kube_major_version}", "{kube_minor_version}" could not be resolved: the API server's version is "devel"`),
		},
		"nothing to read instead": {
			reason:   "If the template is invalid and the spec has no image, the catalog cannot be read.",
			template: "example.com/catalog:{foobar}",
			spec:     olm.CatalogSourceSpec{SourceType: olm.SourceTypeGrpc}, kubernetes: "v1.31.4",
			read: "annotation olm.catalogImageTemplate: " + unresolved + "one or more template(s) has improper syntax: " +
				"could not parse reference: example.com/catalog:{foobar}, and neither spec.image nor spec.address is set",
			want: failed("example.com/catalog:{foobar}",
				unresolved+"one or more template(s) has improper syntax: could not parse reference: example.com/catalog:{foobar}"),
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			cs, kubernetes := &olm.CatalogSource{Spec: tc.spec, Status: olm.CatalogSourceStatus{Conditions: tc.before}}, version.Info{GitVersion: tc.kubernetes}
			if tc.template != "" {
				cs.Annotations = map[string]string{annotationImageTemplate: tc.template}
			}
			out := catalogsourcestatus.Compute(catalogsourcestatus.Inputs{CatalogSource: cs, Template: templateOf(cs, kubernetes)})
			meta.RemoveStatusCondition(&out.Conditions, v1alpha1.ConditionHealthy)
			for i := range out.Conditions {
				out.Conditions[i].LastTransitionTime = metav1.Time{}
			}
			if diff := cmp.Diff(tc.want, out.Conditions, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s\nconditions: -want +got\n%s", tc.reason, diff)
			}
			read := targetOf(cs, kubernetes)
			got := read.source().String()
			if read.problem != "" {
				got = read.problem
			}
			if diff := cmp.Diff(tc.read, got); diff != "" {
				t.Errorf("%s\nimage: -want +got\n%s", tc.reason, diff)
			}
		})
	}
}
