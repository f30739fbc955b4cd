package csv

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

func TestPending(t *testing.T) {
	status := func(name string, reason olm.StatusReason) olm.RequirementStatus {
		return olm.RequirementStatus{Kind: "CustomResourceDefinition", Name: name, Status: reason, Message: "not found"}
	}
	cases := map[string]struct {
		reason   string
		statuses []olm.RequirementStatus
		want     string
	}{
		"One": {"What is there is not named.", []olm.RequirementStatus{status("a", olm.RequirementStatusReasonPresent),
			status("b", olm.RequirementStatusReasonNotPresent)},
			"CustomResourceDefinition b: not found"},
		"Sorted": {"The order is always the same.", []olm.RequirementStatus{status("b", olm.RequirementStatusReasonNotPresent),
			status("a", olm.RequirementStatusReasonPresentNotSatisfied)},
			"CustomResourceDefinition a: not found; CustomResourceDefinition b: not found"},
		"Many": {"Five are named, the rest is counted.", func() (out []olm.RequirementStatus) {
			for i := range 8 {
				out = append(out, status(fmt.Sprint(i), olm.RequirementStatusReasonNotAvailable))
			}
			return out
		}(), "CustomResourceDefinition 0: not found; CustomResourceDefinition 1: not found; CustomResourceDefinition 2: not found; " +
			"CustomResourceDefinition 3: not found; CustomResourceDefinition 4: not found; and 3 more"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			want := "Pending/RequirementsNotMet: Requirements not met: " + tc.want
			if got := word(pending(tc.statuses)); got != want {
				t.Errorf("%s\ngot  %s\nwant %s", tc.reason, got, want)
			}
		})
	}
}

func TestRequirements(t *testing.T) {
	definition := func(name string, established bool, served ...string) client.Object {
		out := &apiextensions.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "uid"}}
		for _, v := range []string{"v1", "v2"} {
			out.Spec.Versions = append(out.Spec.Versions, apiextensions.CustomResourceDefinitionVersion{Name: v, Served: len(served) > 0 && served[0] == v})
		}
		if established {
			out.Status.Conditions = []apiextensions.CustomResourceDefinitionCondition{{Type: apiextensions.Established, Status: apiextensions.ConditionTrue}}
		}
		return out
	}
	const foos = "foos.example.com"
	status := func(is olm.StatusReason, message, uid string) olm.RequirementStatus {
		return olm.RequirementStatus{
			Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition", Name: foos, Status: is, Message: message, UUID: uid,
		}
	}
	cases := map[string]struct {
		reason string
		there  []client.Object
		want   string
		status olm.RequirementStatus
	}{
		"Met":    {"It is served.", []client.Object{definition(foos, true, "v1")}, "", status("Present", "CRD is present and Established condition is true", "uid")},
		"Absent": {"It does not exist.", nil, "not found", status("NotPresent", "CRD is not present", "")},
		"OtherVersion": {"Another version will not do. The message names it; the status has OLM's words, and as there no UID.",
			[]client.Object{definition(foos, true, "v2")}, "it does not serve version v1", status("NotPresent", "CRD version not served", "")},
		"NotEstablished": {"It is not established.", []client.Object{definition(foos, false, "v1")}, "not established",
			status("PresentNotAvailable", "CRD is present but the Established condition is False (not available)", "")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := about(csv("v1", owning(foos)))
			verdict := verdictOf(t, reconciler(t, tc.there...), s, "Requirements")
			want := ""
			if tc.want != "" {
				want = "Pending/RequirementsNotMet: Requirements not met: CustomResourceDefinition foos.example.com: " + tc.want
			}
			if got := word(verdict); got != want {
				t.Errorf("%s\ngot  %s\nwant %s", tc.reason, got, want)
			}
			if diff := cmp.Diff([]olm.RequirementStatus{tc.status}, s.requirements); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
		})
	}
	t.Run("OwnerConflict", func(t *testing.T) {
		mine, older := csv("v2", owning(foos), created(2000)), csv("w1", owning(foos))
		mine.Spec.InstallModes = []olm.InstallMode{{Type: olm.InstallModeTypeOwnNamespace, Supported: true}}
		group := targets("default")
		group.Namespace = "default"
		s := about(mine, older)
		verdict, err := reconciler(t, mine, older, group, definition(foos, true, "v1")).decide(t.Context(), s)
		if err != nil || verdict == nil || verdict.Reason != v1alpha1.CSVReasonOwnerConflict || len(s.requirements) != 1 {
			t.Errorf("What an operator needs is listed also where another owns its kind.\ngot %s, %v, %v", word(verdict), s.requirements, err)
		}
	})
	t.Run("NativeAPI", func(t *testing.T) {
		c := csv("v1")
		c.Spec.NativeAPIs = []metav1.GroupVersionKind{{Group: "apps", Version: "v1", Kind: "Deployment"}, {Group: "odd.com", Version: "v1", Kind: "Odd"}}
		verdict := verdictOf(t, reconciler(t), about(c), "Requirements")
		want := "Pending/RequirementsNotMet: Requirements not met: Odd Odd: kind odd.com/v1, Kind=Odd is not served"
		if got := word(verdict); got != want || verdict.Again == 0 {
			t.Errorf("A kind that is not served is looked for again, since its appearance is no event.\ngot  %s, again after %s\nwant %s", got, verdict.Again, want)
		}
	})
}
