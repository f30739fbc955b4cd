package probepolicy

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer"
	"github.com/operator-status/operator-status/internal/installer/controllers"
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
	type crds = []string
	type policies = []holdv1alpha1.ProbePolicy
	cases := map[string]struct {
		reason   string
		change   func(*appsv1.Deployment)
		serves   crds
		in       string // namespace of its role, or empty for all
		existing crds
		policies policies
		probe    *v1alpha1.Probe
		want     *v1alpha1.Probe
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
			change: func(d *appsv1.Deployment) { d.Labels = map[string]string{"olm.owner": "foo.v1"} },
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
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "foo", Name: "operator"}}
			if tc.change != nil {
				tc.change(d)
			}
			in := Inputs{Operator: of, Served: served(tc.in, tc.serves...), Existing: tc.existing, Policies: tc.policies, Probe: tc.probe}
			if w, _ := installer.WorkloadOf(d); IsPart(of, w) {
				in.Parts = []installer.Workload{w}
			}
			if diff := cmp.Diff(tc.want, ForOperator(in)); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// served returns the CustomResourceDefinitions that the account of an operator serves in a namespace, or in all.
func served(namespace string, crds ...string) map[types.NamespacedName]controllers.Served {
	out := controllers.Served{}
	for _, name := range crds {
		out[name] = nil
		if namespace != "" {
			out[name] = []string{namespace}
		}
	}
	return map[types.NamespacedName]controllers.Served{{Namespace: "foo", Name: "default"}: out}
}
