package probepolicy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/probepolicy"
	"github.com/operator-status/operator-status/internal/status/condition"
)

const foos = "foos.example.com"

func policy(match *holdv1alpha1.OperatorMatch) *holdv1alpha1.ProbePolicy {
	return &holdv1alpha1.ProbePolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "foo", Generation: 3},
		Spec:       holdv1alpha1.ProbePolicySpec{Match: match, ProbeResources: []v1alpha1.ProbeResource{{Name: foos, Upgradeable: "Ready"}}},
	}
}

// operator returns one that serves Foos, whose Probe has a manager and reports Upgradeable, unless upgradeable is empty.
func operator(name string, manager v1alpha1.ProbeManager, upgradeable metav1.ConditionStatus) Operator {
	op := probepolicy.Operator{Installer: holdv1alpha1.InstallerHelm, Namespace: "default", Definitions: []string{foos}}
	probe := &v1alpha1.Probe{Spec: &v1alpha1.ProbeSpec{Manager: manager}}
	if upgradeable != "" {
		probe.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionUpgradeable, Status: upgradeable}}
	}
	return Operator{op, name, probe}
}

func TestCompute(t *testing.T) {
	const yes, no = metav1.ConditionTrue, metav1.ConditionFalse
	annotated, withoutProbe := operator("a", v1alpha1.ManagerCRDAnnotations, yes), operator("a", v1alpha1.ManagerPolicy, yes)
	annotated.Annotated = []v1alpha1.ProbeResource{{Name: foos}}
	withoutProbe.Probe = nil
	var many []Operator
	for i := range 60 {
		many = append(many, operator(fmt.Sprintf("o%02d", i), v1alpha1.ManagerPolicy, yes))
	}
	many = append(many, operator("z", v1alpha1.ManagerPolicy, no))
	cases := map[string]struct {
		reason          string
		match           *holdv1alpha1.OperatorMatch
		operators       []Operator
		matched         string
		message         string
		summary         holdv1alpha1.ProbePolicySummary
		listed, firstly string
	}{
		"None": {
			reason:  "A policy that applies to nothing names what nobody owns: the name may be misspelt.",
			matched: "False/NoOperatorFound", message: "No operator without annotations and a Probe of its own serves foos.example.com",
		},
		"Restricted": {
			reason: "The cause may be that it is restricted.", match: &holdv1alpha1.OperatorMatch{Namespaces: []string{"other"}},
			operators: []Operator{operator("a", v1alpha1.ManagerPolicy, no)},
			matched:   "False/NoOperatorFound", message: "No operator without annotations and a Probe of its own serves foos.example.com and is selected by spec.match",
		},
		"Blocking": {
			reason:    "Those that may not be updated are the first.",
			operators: []Operator{operator("a", v1alpha1.ManagerPolicy, yes), operator("b", v1alpha1.ManagerPolicy, no), operator("c", v1alpha1.ManagerPolicy, "")},
			matched:   "True/OperatorsFound", message: "Applies to default/b, default/c, default/a",
			summary: holdv1alpha1.ProbePolicySummary{Operators: 3, NotUpgradeable: 1}, listed: "b=False c=Unknown a=True",
		},
		"Own": {
			reason:    "It does not apply to an operator with annotations, or with a Probe of a user.",
			operators: []Operator{annotated, operator("b", "", no), operator("c", v1alpha1.ManagerOperator, no)},
			matched:   "False/NoOperatorFound", message: "No operator without annotations and a Probe of its own serves foos.example.com",
		},
		"NoProbe": {
			reason: "An operator whose Probe does not exist yet is one of them.", operators: []Operator{withoutProbe},
			matched: "True/OperatorsFound", message: "Applies to default/a",
			summary: holdv1alpha1.ProbePolicySummary{Operators: 1}, listed: "a=Unknown",
		},
		"Many": {
			reason: "The list is limited; the summary counts all.", operators: many,
			matched: "True/OperatorsFound", message: "Applies to default/z, default/o00, default/o01, default/o02, default/o03, and 56 more",
			summary: holdv1alpha1.ProbePolicySummary{Operators: 61, NotUpgradeable: 1}, firstly: "z=False o00=True",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := Compute(Inputs{Policy: policy(tc.match), Operators: tc.operators, Now: metav1.Unix(1000, 0)})
			var listed []string
			for _, o := range got.Operators {
				listed = append(listed, o.Name+"="+string(o.Upgradeable))
			}
			c := got.Conditions[0]
			if got.ObservedGeneration != 3 || c.ObservedGeneration != 3 || c.Type != holdv1alpha1.ConditionMatched || string(c.Status)+"/"+c.Reason != tc.matched {
				t.Errorf("%s\ngot %+v, want %s", tc.reason, c, tc.matched)
			}
			if valid := meta.FindStatusCondition(got.Conditions, holdv1alpha1.ConditionValid); valid == nil || valid.Status != metav1.ConditionTrue {
				t.Errorf("%s\ngot %+v, want a valid policy", tc.reason, valid)
			}
			if diff := cmp.Diff(tc.message, c.Message); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.summary, got.Summary); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
			all := strings.Join(listed, " ")
			if len(listed) > holdv1alpha1.MaxPolicyOperators || tc.firstly == "" && all != tc.listed || !strings.HasPrefix(all, tc.firstly) {
				t.Errorf("%s\ngot %s, want %s%s", tc.reason, all, tc.listed, tc.firstly)
			}
		})
	}
}

// TestValid verifies that all problems of the expressions are in the message, and that the status is computed from them alone.
func TestValid(t *testing.T) {
	in := Inputs{Policy: policy(nil), Now: metav1.Unix(1000, 0), Problems: []condition.Problem{
		{Reason: holdv1alpha1.ReasonFieldNotFound, Message: "A is missing"}, {Reason: holdv1alpha1.ReasonFieldNotFound, Message: "B is missing"},
	}}
	got := Compute(in)
	c := meta.FindStatusCondition(got.Conditions, holdv1alpha1.ConditionValid)
	if c == nil || c.Status != metav1.ConditionFalse || c.Reason != holdv1alpha1.ReasonFieldNotFound || c.Message != "A is missing; B is missing" {
		t.Errorf("got %+v", c)
	}
	in.Policy.Status, in.Problems = got, nil
	if c := meta.FindStatusCondition(Compute(in).Conditions, holdv1alpha1.ConditionValid); c.Status != metav1.ConditionTrue || c.Message != "" {
		t.Errorf("without problems: got %+v", c)
	}
}
