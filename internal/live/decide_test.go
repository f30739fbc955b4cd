package live

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/csvchain"
	"github.com/operator-status/operator-status/internal/gate"
	"github.com/operator-status/operator-status/internal/observed"
	"github.com/operator-status/operator-status/internal/watch"
)

// TestDecide verifies that everything is read again if that took long, that a decision does not count from when a late answer was
// received, and that custom resources are not read for an update that is held anyway.
func TestDecide(t *testing.T) {
	csv := &v1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "foo.v1"}}
	update := func(held bool) Update {
		probe := &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "foo.v1"}}
		probe.Spec = &v1alpha1.ProbeSpec{ProbeResources: []v1alpha1.ProbeResource{{Name: "foos.example.com", Upgradeable: "!Migrating"}}}
		out := Update{
			Inputs: gate.Inputs{Running: csvchain.Version(csv), Target: "foo.v2", Uninstalled: true, Probe: probe},
			CSV:    csv, Account: &types.NamespacedName{},
		}
		if held {
			out.Uninstalled = false
			probe.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionUpgradeable, Status: metav1.ConditionFalse}}
		}
		return out
	}
	cases := map[string]struct {
		reason          string
		heldFrom        int             // the first time of gathering that finds a hold, or 0
		took            []time.Duration // by each read of the custom resources
		reads, gathered int
		blocking        bool // whether a custom resource holds the update
		held, fails     bool
		age             time.Duration // of the decision
	}{
		"Allowed":    {reason: "An update that nothing holds is decided once.", reads: 1, gathered: 1},
		"HeldBefore": {reason: "The custom resources do not matter for an update that is held anyway.", heldFrom: 1, gathered: 1, held: true},
		"Quick": {reason: "The custom resources may have changed since the API server was asked.", took: []time.Duration{time.Second / 2},
			reads: 1, gathered: 1, age: time.Second / 2},
		"SlowOnce": {reason: "An answer that is received late may be outdated: the process was frozen.", took: []time.Duration{time.Minute / 2, time.Second / 2},
			reads: 2, gathered: 2, age: time.Second / 2},
		"Slow": {reason: "Reading many custom resources always takes long; the rest may be outdated then.", took: []time.Duration{time.Minute / 2, time.Minute / 2},
			reads: 2, gathered: 3},
		"HeldMeanwhile": {reason: "A hold that appears while the custom resources are read counts.", took: []time.Duration{time.Minute / 2},
			heldFrom: 2, reads: 1, gathered: 2, held: true},
		"HeldAtLast": {reason: "So does one that appears while many are read again.", took: []time.Duration{time.Minute / 2, time.Minute / 2},
			heldFrom: 3, reads: 2, gathered: 3, held: true},
		"Frozen": {reason: "It takes much longer than before: the process was frozen meanwhile.", took: []time.Duration{time.Minute / 6, time.Minute / 2},
			reads: 2, gathered: 3, fails: true},
		"Blocking": {reason: "A hold needs not be read again.", took: []time.Duration{time.Minute / 2}, blocking: true, reads: 1, gathered: 1, held: true,
			age: time.Minute / 2},
		"NotYetHeld": {reason: "Nothing is read again after a quick answer.", heldFrom: 2, reads: 1, gathered: 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				reads, gathered := 0, 0
				probes := Probes{Reader: cluster(t), List: func(context.Context, watch.Request) (observed.Snapshot, error) {
					if reads < len(tc.took) {
						time.Sleep(tc.took[reads]) // of the clock of the test
					}
					reads++
					out := observed.Snapshot{Filled: true}
					if tc.blocking {
						out.Counts = observed.Counts{Total: 1, Blocking: 1}
					}
					return out, nil
				}}
				decision, at, err := probes.Decide(t.Context(), func(context.Context) ([]Update, error) {
					gathered++
					return []Update{update(tc.heldFrom > 0 && gathered >= tc.heldFrom)}, nil
				})
				if (err != nil) != tc.fails {
					t.Fatal(err)
				}
				if decision.Held != tc.held || reads != tc.reads || gathered != tc.gathered || !tc.fails && time.Since(at) != tc.age {
					t.Errorf("%s\nheld %t, %d reads, gathered %d times, %s old; want %t, %d, %d, %s: %s", tc.reason, decision.Held, reads, gathered,
						time.Since(at), tc.held, tc.reads, tc.gathered, tc.age, decision.Message)
				}
			})
		})
	}
}

// cluster returns a cluster with the kind Foo and an OperatorGroup.
func cluster(t *testing.T) client.Reader {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{apiextensions.AddToScheme, operatorsv1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	crd := &apiextensions.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "foos.example.com"}}
	crd.Spec.Group, crd.Spec.Scope = "example.com", apiextensions.NamespaceScoped
	crd.Spec.Names = apiextensions.CustomResourceDefinitionNames{Kind: "Foo", Plural: "foos"}
	crd.Spec.Versions = []apiextensions.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true}}
	crd.Status.Conditions = []apiextensions.CustomResourceDefinitionCondition{{Type: apiextensions.Established, Status: apiextensions.ConditionTrue}}
	group := &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "group"}}
	group.Spec.TargetNamespaces = []string{"default"}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(crd, group).Build()
}
