package probepolicy

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer"
	"github.com/operator-status/operator-status/internal/installer/controllers"
	"github.com/operator-status/operator-status/internal/operator"
)

// TestForOperator verifies which Probe an operator without ClusterServiceVersion gets.
func TestForOperator(t *testing.T) {
	const foos, bars = "foos.example.com", "bars.example.com"
	of := holdv1alpha1.OperatorReference{Installer: holdv1alpha1.InstallerWorkload, Namespace: "foo", Name: "operator"}
	policy := holdv1alpha1.ProbePolicy{Spec: holdv1alpha1.ProbePolicySpec{
		Settle:         &metav1.Duration{Duration: time.Minute},
		ProbeResources: []v1alpha1.ProbeResource{{Name: foos, Upgradeable: "!Migrating"}, {Name: bars, Upgradeable: "Ready"}},
	}}
	restricted := *policy.DeepCopy()
	restricted.Spec.Match = &holdv1alpha1.OperatorMatch{Installers: []holdv1alpha1.Installer{holdv1alpha1.InstallerHelm}}
	probe := func(namespaces []string, resources ...v1alpha1.ProbeResource) *v1alpha1.Probe {
		return &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Namespace: "foo", Name: "workload.operator"}, Spec: &v1alpha1.ProbeSpec{
			Manager: v1alpha1.ManagerPolicy, Operator: &v1alpha1.ProbedOperator{Installer: "Workload", Name: "operator"},
			Namespaces: namespaces, Settle: policy.Spec.Settle, ProbeResources: resources,
		}}
	}
	ofFoos, ofBars := policy.Spec.ProbeResources[0], policy.Spec.ProbeResources[1]
	byAuthor, byNext := v1alpha1.ProbeResource{Name: foos, Upgradeable: "!Busy"}, v1alpha1.ProbeResource{Name: foos, Upgradeable: "!Upgrading"}
	annotated := func(names string, resources ...v1alpha1.ProbeResource) *v1alpha1.Probe {
		out := probe(nil, resources...)
		out.Annotations = map[string]string{v1alpha1.AnnotationAnnotatedCRDs: names}
		out.Spec.Manager, out.Spec.Settle = v1alpha1.ManagerCRDAnnotations, nil
		return out
	}
	settled := func(p *v1alpha1.Probe) *v1alpha1.Probe { p.Spec.Settle = policy.Spec.Settle; return p }
	changed := func(p *v1alpha1.Probe) *v1alpha1.Probe { p.Generation++; return p }
	allowing := func(p *v1alpha1.Probe) *v1alpha1.Probe {
		p.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionUpgradeable, Status: metav1.ConditionTrue}}
		return p
	}
	type resources = []v1alpha1.ProbeResource
	type crds = []string
	type policies = []holdv1alpha1.ProbePolicy
	cases := map[string]struct {
		reason   string
		change   func(*appsv1.Deployment)
		serves   crds
		in       string // namespace of its role, or empty for all
		existing crds
		policies policies

		annotated []v1alpha1.ProbeResource
		probe     *v1alpha1.Probe
		want      *v1alpha1.Probe
	}{
		"Serves": {
			reason: "It gets the expressions for all that it serves.", serves: crds{foos, bars}, existing: crds{bars, foos}, policies: policies{policy},
			want: probe(nil, ofBars, ofFoos),
		},
		"Some": {
			reason: "It gets none for others.", serves: crds{foos}, existing: crds{bars, foos}, policies: policies{policy},
			want: probe(nil, ofFoos),
		},
		"Namespace": {
			reason: "Its custom resources are read where it may report on them.", serves: crds{foos}, in: "baz", existing: crds{foos}, policies: policies{policy},
			want: probe([]string{"baz"}, ofFoos),
		},
		"None":       {reason: "Whoever serves nothing gets none.", existing: crds{foos}, policies: policies{policy}},
		"Restricted": {reason: "A policy may be for other installers.", serves: crds{foos}, existing: crds{foos}, policies: policies{restricted}},
		"Operand": {
			reason: "An operand is updated by its operator.", serves: crds{foos}, existing: crds{foos}, policies: policies{policy},
			change: func(d *appsv1.Deployment) {
				d.OwnerReferences = []metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Bar", Name: "bar", Controller: new(true)}}
			},
		},
		"OfOLM": {
			reason: "An operator of OLM has a ClusterServiceVersion.", serves: crds{foos}, existing: crds{foos}, policies: policies{policy},
			change: func(d *appsv1.Deployment) {
				d.Labels, d.OwnerReferences = map[string]string{"olm.owner": "foo.v1"}, []metav1.OwnerReference{{Kind: "ClusterServiceVersion", Name: "foo.v1"}}
			},
		},
		"RoleGone": {
			reason: "A role that an update changes first does not end the hold.", existing: crds{bars, foos}, policies: policies{policy},
			probe: probe([]string{"baz"}, ofFoos), want: probe([]string{"baz"}, ofFoos),
		},
		"RoleOfOneGone": {
			reason: "Nor of one of several kinds.", serves: crds{bars}, existing: crds{bars, foos}, policies: policies{policy},
			probe: probe(nil, ofBars, ofFoos), want: probe(nil, ofBars, ofFoos),
		},
		"DefinitionGone": {reason: "A kind that no longer exists holds nothing.", existing: crds{bars}, policies: policies{policy}, probe: probe(nil, ofFoos)},
		"PolicyGone":     {reason: "The Probe ends with the policy.", serves: crds{foos}, existing: nil, probe: probe(nil, ofFoos)},
		"OperatorGone": {
			reason: "And with the operator.", serves: crds{foos}, existing: crds{foos}, policies: policies{policy}, probe: probe(nil, ofFoos),
			change: func(d *appsv1.Deployment) { d.Name = "other" },
		},
		"Annotated": {
			reason: "The annotations of what it serves count.", serves: crds{foos}, existing: crds{bars, foos},
			annotated: resources{byAuthor, {Name: bars, Upgradeable: "Done"}}, want: annotated(foos, byAuthor),
		},
		"Precedence": {
			reason: "They take precedence over policies, which add those of other kinds.", serves: crds{foos, bars}, existing: crds{bars, foos},
			policies: policies{policy}, annotated: resources{byAuthor}, want: settled(annotated(foos, byAuthor, ofBars)),
		},
		"AnnotationChanged": {
			reason: "Another annotation counts beside the former one, which does not allow an update.", serves: crds{foos}, existing: crds{foos},
			annotated: resources{byNext}, probe: annotated(foos, byAuthor), want: annotated(foos, byNext, byAuthor),
		},
		"AnnotationChangedAgain": {
			reason: "Both are kept while nothing changes.", serves: crds{foos}, existing: crds{foos},
			annotated: resources{byNext}, probe: annotated(foos, byNext, byAuthor), want: annotated(foos, byNext, byAuthor),
		},
		"AnnotationGone": {
			reason: "Nor does the former one end with the annotation.", serves: crds{foos}, existing: crds{foos},
			probe: annotated(foos, byAuthor), want: annotated(foos, byAuthor),
		},
		"AnnotationReplacedByPolicy": {
			reason: "A policy does not replace it before.", serves: crds{foos}, existing: crds{foos}, policies: policies{policy},
			probe: annotated(foos, byAuthor), want: annotated(foos, byAuthor),
		},
		"AllowsAndAnnotationChanged": {
			reason: "While an update is allowed, only the current annotation counts.", serves: crds{foos}, existing: crds{foos},
			annotated: resources{byNext}, probe: allowing(annotated(foos, byAuthor)), want: annotated(foos, byNext),
		},
		"AllowedBefore": {
			reason: "A status of an earlier spec does not tell.", serves: crds{foos}, existing: crds{foos},
			annotated: resources{byNext}, probe: changed(allowing(annotated(foos, byAuthor))), want: annotated(foos, byNext, byAuthor),
		},
		"AllowsAndAnnotationGone": {
			reason: "The Probe ends with the annotation.", serves: crds{foos}, existing: crds{foos}, probe: allowing(annotated(foos, byAuthor)),
		},
		"PolicyOfMixedChanged": {
			reason: "A policy changes at once, which an admin did.", serves: crds{foos, bars}, existing: crds{bars, foos},
			annotated: resources{byAuthor}, probe: annotated(foos, byAuthor, ofBars), want: annotated(foos, byAuthor),
		},
		"AnnotatedDefinitionGone": {
			reason: "A kind that no longer exists holds nothing.", serves: crds{bars}, existing: crds{bars}, probe: annotated(foos, byAuthor),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "foo", Name: "operator"}}
			if tc.change != nil {
				tc.change(d)
			}
			in := Inputs{Operator: of, Served: served(tc.in, tc.serves...), Existing: tc.existing, Policies: tc.policies, Annotated: tc.annotated, Probe: tc.probe}
			if w, _ := installer.WorkloadOf(d); IsPart(of, w) {
				in.Parts = []installer.Workload{w}
			}
			if diff := cmp.Diff(tc.want, ForOperator(in)); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// served returns the CustomResourceDefinitions that an operator serves in a namespace, or in all.
func served(namespace string, crds ...string) map[operator.Ref]controllers.Served {
	out := controllers.Served{}
	for _, name := range crds {
		out[name] = nil
		if namespace != "" {
			out[name] = []string{namespace}
		}
	}
	return map[operator.Ref]controllers.Served{{Kind: "Deployment", Namespace: "foo", Name: "operator"}: out}
}

// TestIsPart verifies that the marks of a release make a workload of another namespace no part of its operator: whoever writes it could
// choose them.
func TestIsPart(t *testing.T) {
	release := holdv1alpha1.OperatorReference{Installer: holdv1alpha1.InstallerHelm, Namespace: "foo", Name: "release"}
	for namespace, want := range map[string]bool{"foo": true, "bar": false} {
		w, _ := installer.WorkloadOf(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "operator", Annotations: map[string]string{
			installer.AnnotationRelease: "release", installer.AnnotationReleaseNamespace: "foo",
		}}})
		if got := IsPart(release, w); got != want {
			t.Errorf("one in namespace %s is a part: %t", namespace, got)
		}
	}
}
