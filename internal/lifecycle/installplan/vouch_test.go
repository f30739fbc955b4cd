package installplan

import (
	"testing"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestVouchers(t *testing.T) {
	asking := csv("foo.v1")
	asking.Object["spec"] = object(`{"description":"long","install":{"strategy":"deployment","spec":{"deployments":[{"name":"foo"}],` +
		`"clusterPermissions":[{"serviceAccountName":"foo","rules":[{"verbs":["get"],"resources":["nodes"]}]}]}},` +
		`"webhookdefinitions":[{"generateName":"vfoo.example.com"}]}`).Object
	in := func(phase olm.InstallPlanPhase, uid types.UID) *olm.InstallPlan {
		out := plan(stepsOf(t, "olm", asking)...)
		out.UID, out.Status.Phase = uid, phase
		return out
	}
	key := types.NamespacedName{Namespace: "default", Name: "foo.v1"}
	other := types.NamespacedName{Namespace: "default", Name: "bar.v1"}
	cases := map[string]struct {
		reason  string
		there   *olm.InstallPlan
		plan    *olm.InstallPlan
		csv     types.NamespacedName
		ran     *olm.InstallPlan // in this process
		vouches bool
	}{
		"Approved":   {reason: "What was approved is vouched for.", there: in(olm.InstallPlanPhaseComplete, "1"), plan: in("", "1"), csv: key, vouches: true},
		"Running":    {reason: "So is what is being installed.", there: in(olm.InstallPlanPhaseInstalling, "1"), plan: in("", "1"), csv: key, vouches: true},
		"Waiting":    {reason: "Nobody approved it yet, whatever a cache says.", there: in(olm.InstallPlanPhaseRequiresApproval, "1"), plan: in(olm.InstallPlanPhaseComplete, "1"), csv: key},
		"Another":    {reason: "A plan says nothing of what it does not install.", there: in(olm.InstallPlanPhaseComplete, "1"), plan: in("", "1"), csv: other},
		"Gone":       {reason: "A plan that is gone vouches for nothing.", plan: in(olm.InstallPlanPhaseComplete, "1"), csv: key},
		"Remembered": {reason: "A plan that ran here need not be read.", plan: in(olm.InstallPlanPhaseComplete, "1"), csv: key, ran: in(olm.InstallPlanPhaseInstalling, "1"), vouches: true},
		"Remade":     {reason: "Another plan of that name is another plan.", plan: in(olm.InstallPlanPhaseComplete, "2"), csv: key, ran: in(olm.InstallPlanPhaseInstalling, "1")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var objects []client.Object
			if tc.there != nil {
				objects = append(objects, tc.there)
			}
			c := cluster(t, nothing, objects...)
			vouchers := &Vouchers{}
			if tc.ran != nil {
				r := &run{as: c, reader: c, vouchers: vouchers, plan: tc.ran}
				if err := r.all(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			got, err := vouchers.Of(t.Context(), c, tc.csv, tc.plan)
			if err != nil {
				t.Fatal(err)
			}
			if !tc.vouches {
				if got.Spec != nil {
					t.Errorf("%s\nit vouches for %+v", tc.reason, got.Spec)
				}
				return
			}
			if got.Spec == nil || len(got.Spec.InstallStrategy.StrategySpec.ClusterPermissions) != 1 || len(got.Spec.WebhookDefinitions) != 1 ||
				got.Spec.InstallStrategy.StrategySpec.ClusterPermissions[0].Rules[0].Resources[0] != "nodes" {
				t.Errorf("%s\ngot %+v", tc.reason, got.Spec)
			} else if got.Spec.Description != "" || got.Spec.InstallStrategy.StrategySpec.DeploymentSpecs != nil {
				t.Errorf("%s\nmore is kept than is vouched for: %+v", tc.reason, got.Spec)
			}
			if got.CatalogNamespace != "olm" {
				t.Errorf("%s\nit comes from namespace %q", tc.reason, got.CatalogNamespace)
			}
		})
	}
}
