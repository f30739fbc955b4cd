package imagepolicy

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	policyv1alpha1 "github.com/operator-status/operator-status/api/policy/v1alpha1"
	"github.com/operator-status/operator-status/internal/status/condition"
)

func TestCompute(t *testing.T) {
	catalog := func(name string) policyv1alpha1.MatchedCatalog {
		return policyv1alpha1.MatchedCatalog{Namespace: "olm", Name: name, Image: "quay.io/acme/" + name}
	}
	var many []policyv1alpha1.MatchedCatalog
	for i := range 30 {
		many = append(many, catalog(fmt.Sprintf("%02d", 29-i)))
	}
	cases := map[string]struct {
		reason         string
		catalogs       []policyv1alpha1.MatchedCatalog
		problem        *condition.Problem
		matched, valid string
		summary        int32
		first, last    string
	}{
		"None": {"A policy may match nothing.", nil, nil, "False/NoCatalogFound: It applies to the image of no CatalogSource", "True/Valid: ", 0, "", ""},
		"Some": {
			"Its catalogs are sorted.", []policyv1alpha1.MatchedCatalog{catalog("b"), catalog("a")}, nil,
			"True/CatalogsFound: It applies to quay.io/acme/a of CatalogSource olm/a, quay.io/acme/b of CatalogSource olm/b", "True/Valid: ", 2, "a", "b",
		},
		"Many": {
			"They are limited, and counted.", many, nil, "True/CatalogsFound: It applies to quay.io/acme/00 of CatalogSource olm/00, ", "True/Valid: ", 30, "00", "19",
		},
		"Invalid": {
			"A policy that no image can satisfy says why, on one line.", nil, &condition.Problem{Reason: policyv1alpha1.ReasonKeyInvalid, Message: "The key\nof acme"},
			"False/NoCatalogFound: ", "False/KeyInvalid: The key of acme", 0, "", "",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := Inputs{
				Policy: &policyv1alpha1.ImagePolicy{ObjectMeta: metav1.ObjectMeta{Generation: 3}}, Catalogs: tc.catalogs, Problem: tc.problem, Now: metav1.Unix(1000, 0),
			}
			got := Compute(in)
			for kind, want := range map[string]string{policyv1alpha1.ConditionMatched: tc.matched, policyv1alpha1.ConditionValid: tc.valid} {
				c := meta.FindStatusCondition(got.Conditions, kind)
				if actual := fmt.Sprintf("%s/%s: %s", c.Status, c.Reason, c.Message); !strings.HasPrefix(actual, want) || c.ObservedGeneration != 3 {
					t.Errorf("%s\n%s is %q of generation %d, want %q", tc.reason, kind, actual, c.ObservedGeneration, want)
				}
			}
			first, last := "", ""
			if n := len(got.Catalogs); n > 0 {
				first, last = got.Catalogs[0].Name, got.Catalogs[n-1].Name
			}
			if diff := cmp.Diff([]any{tc.summary, tc.first, tc.last}, []any{got.Summary.Catalogs, first, last}); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
			in.Policy.Status, in.Now = got, metav1.NewTime(in.Now.Add(time.Hour))
			if diff := cmp.Diff(got, Compute(in)); diff != "" {
				t.Errorf("%s\nan hour later, it changes:\n%s", tc.reason, diff)
			}
		})
	}
}
