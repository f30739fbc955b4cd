package holdpolicy

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
)

func TestCompare(t *testing.T) {
	const own = "operator-status-system"
	of := func(installer holdv1alpha1.Installer, namespace string) holdv1alpha1.OperatorReference {
		return holdv1alpha1.OperatorReference{Installer: installer, Namespace: namespace, Name: "foo"}
	}
	var (
		olm, v1 = of(holdv1alpha1.InstallerOLM, "a"), of(holdv1alpha1.InstallerOLMv1, "a")
		helm    = of(holdv1alpha1.InstallerHelm, "a")
		applied = of(holdv1alpha1.InstallerWorkload, "a")
	)
	window := holdv1alpha1.UpdateWindow{Schedule: "0 22 * * 6", Duration: metav1.Duration{Duration: time.Hour}}
	terms := holdv1alpha1.HoldTerms{Message: "audit", From: new(metav1.Unix(1000, 0)), UpdateWindows: []holdv1alpha1.UpdateWindow{window}}
	policy := func(match *holdv1alpha1.OperatorMatch) *holdv1alpha1.UpgradeHoldPolicy {
		out := &holdv1alpha1.UpgradeHoldPolicy{ObjectMeta: metav1.ObjectMeta{Name: "freeze", UID: "1"}}
		out.Spec.Match, out.Spec.HoldTerms = match, terms
		out.Spec.From = new(metav1.Unix(1000, 5e8)) // which is not read back
		return out
	}
	hold := func(name, message string, of holdv1alpha1.OperatorReference) *holdv1alpha1.UpgradeHold {
		out := newHold(policy(nil), of)
		out.Name, out.Spec.Message = name, message
		return out
	}
	operators := func(all ...holdv1alpha1.OperatorReference) []Operator {
		var out []Operator
		for _, o := range all {
			out = append(out, Operator{OperatorReference: o, Package: "foo-package"})
		}
		return out
	}
	ofEarlier := hold("freeze.olm.a.foo", "audit", olm)
	ofEarlier.OwnerReferences[0].UID = "0"
	cases := map[string]struct {
		reason    string
		match     *holdv1alpha1.OperatorMatch
		operators []Operator
		own       []*holdv1alpha1.UpgradeHold
		want      string // the changes, in order
	}{
		"Default": {"By default, operators are held that a program for operators installed.", nil, operators(olm, v1, helm, applied), nil,
			"create freeze.helm.a.foo, create freeze.olm.a.foo, create freeze.olmv1.a.foo"},
		"Workload": {"Others only if the policy says so.", &holdv1alpha1.OperatorMatch{Installers: []holdv1alpha1.Installer{"Workload"}},
			operators(olm, applied), nil, "create freeze.workload.a.foo"},
		"Namespaces": {"A namespace alone selects no workloads either.", &holdv1alpha1.OperatorMatch{Namespaces: []string{"a"}},
			operators(olm, applied, of(holdv1alpha1.InstallerOLM, "b")), nil, "create freeze.olm.a.foo"},
		"Package":      {"A package is selected.", &holdv1alpha1.OperatorMatch{Packages: []string{"foo-package"}}, operators(olm), nil, "create freeze.olm.a.foo"},
		"OtherPackage": {"Another is not.", &holdv1alpha1.OperatorMatch{Packages: []string{"bar"}}, operators(olm), nil, ""},
		"Reserved": {"Updates of operator-status and of Kubernetes cannot be held.", nil,
			operators(of(holdv1alpha1.InstallerHelm, own), of(holdv1alpha1.InstallerHelm, "kube-system")), nil, ""},
		"Same":      {"What is as it should be is kept.", nil, operators(olm), []*holdv1alpha1.UpgradeHold{hold("freeze.olm.a.foo", "audit", olm)}, "keep freeze.olm.a.foo"},
		"Changed":   {"A hold follows the policy.", nil, operators(olm), []*holdv1alpha1.UpgradeHold{hold("freeze.olm.a.foo", "before", olm)}, "update freeze.olm.a.foo"},
		"Recreated": {"It stays for a policy that was created again.", nil, operators(olm), []*holdv1alpha1.UpgradeHold{ofEarlier}, "update freeze.olm.a.foo"},
		"Named":     {"Whatever its name is.", nil, operators(olm), []*holdv1alpha1.UpgradeHold{hold("freeze.olm.a.foo-x", "audit", olm)}, "keep freeze.olm.a.foo-x"},
		"Twice": {"A second one of an operator goes.", nil, operators(olm),
			[]*holdv1alpha1.UpgradeHold{hold("freeze.olm.a.foo", "audit", olm), hold("freeze.olm.a.foo-x", "audit", olm)}, "keep freeze.olm.a.foo, delete freeze.olm.a.foo-x"},
		"Gone":     {"So does that of an operator that is gone.", nil, nil, []*holdv1alpha1.UpgradeHold{hold("freeze.olm.a.foo", "audit", olm)}, "delete freeze.olm.a.foo"},
		"Narrowed": {"And that of one that is not selected any longer.", &holdv1alpha1.OperatorMatch{Packages: []string{"bar"}}, operators(olm), []*holdv1alpha1.UpgradeHold{hold("freeze.olm.a.foo", "audit", olm)}, "delete freeze.olm.a.foo"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			changes := Compare(policy(tc.match), tc.operators, tc.own, own)
			var got []string
			add := func(verb string, holds []*holdv1alpha1.UpgradeHold) {
				for _, h := range holds {
					got = append(got, verb+" "+h.Name)
					if diff := cmp.Diff(terms, h.Spec.HoldTerms); diff != "" && verb != "delete" {
						t.Errorf("%s\n%s has other terms:\n%s", tc.reason, h.Name, diff)
					}
					if !metav1.IsControlledBy(h, policy(nil)) || h.Policy() != "freeze" {
						t.Errorf("%s\nthe policy of %s is %q", tc.reason, h.Name, h.Policy())
					}
				}
			}
			add("create", changes.Create)
			add("update", changes.Update)
			add("keep", changes.Kept)
			add("delete", changes.Delete)
			if diff := cmp.Diff(tc.want, strings.Join(got, ", ")); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
		})
	}
}

func TestMissing(t *testing.T) {
	foo, own := holdv1alpha1.SubscribedOperator("a", "foo"), holdv1alpha1.SubscribedOperator("operator-status-system", "operator-status")
	policy := func(name string) holdv1alpha1.UpgradeHoldPolicy {
		return holdv1alpha1.UpgradeHoldPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	deleted := policy("freeze")
	deleted.DeletionTimestamp = new(metav1.Unix(1, 0))
	other := policy("other")
	other.Spec.Match = &holdv1alpha1.OperatorMatch{Packages: []string{"bar"}}
	ofUser := holdv1alpha1.UpgradeHold{ObjectMeta: metav1.ObjectMeta{Name: "freeze.olm.a.foo"}, Spec: holdv1alpha1.UpgradeHoldSpec{Operator: foo}}
	freeze := policy("freeze")
	existing := []holdv1alpha1.UpgradeHold{*newHold(&freeze, foo)}
	cases := map[string]struct {
		reason    string
		policies  []holdv1alpha1.UpgradeHoldPolicy
		operators []Operator
		actual    []holdv1alpha1.UpgradeHold
		want      []string
	}{
		"None":     {"Without policies nothing is missing.", nil, []Operator{{OperatorReference: foo}}, nil, nil},
		"Missing":  {"An operator is held from the moment at which it or the policy appears.", []holdv1alpha1.UpgradeHoldPolicy{freeze}, []Operator{{OperatorReference: foo}}, nil, []string{"freeze.olm.a.foo"}},
		"Exists":   {"An UpgradeHold that exists counts as it is.", []holdv1alpha1.UpgradeHoldPolicy{freeze}, []Operator{{OperatorReference: foo}}, existing, nil},
		"OfUser":   {"One of a user with its name is another.", []holdv1alpha1.UpgradeHoldPolicy{freeze}, []Operator{{OperatorReference: foo}}, []holdv1alpha1.UpgradeHold{ofUser}, []string{"freeze.olm.a.foo"}},
		"Deleted":  {"A policy that is being deleted has ended.", []holdv1alpha1.UpgradeHoldPolicy{deleted}, []Operator{{OperatorReference: foo}}, nil, nil},
		"Other":    {"A policy is for the operators that it selects.", []holdv1alpha1.UpgradeHoldPolicy{other}, []Operator{{OperatorReference: foo, Package: "foo"}}, nil, nil},
		"Reserved": {"Updates of operator-status itself cannot be held.", []holdv1alpha1.UpgradeHoldPolicy{freeze}, []Operator{{OperatorReference: own}}, nil, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, h := range Missing(tc.policies, tc.operators, tc.actual, own.Namespace) {
				got = append(got, h.Name)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
		})
	}
}
