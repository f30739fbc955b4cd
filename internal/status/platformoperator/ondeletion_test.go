package platformoperator

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/platform/v1alpha1"
)

func TestOnDeletion(t *testing.T) {
	owning := func(in *Inputs) {
		csv := in.CSVs["foo.v1"]
		csv.Spec.CustomResourceDefinitions.Owned = []olm.CRDDescription{{Name: "foos.example.com"}, {Name: "bars.example.com"}}
	}
	unowned := func(in *Inputs) { in.Objects = in.Objects[len(in.Objects)-1:] }
	for name, tc := range map[string]struct {
		reason string
		in     Inputs
		want   string
	}{
		"Not yet": {
			"The message lists no custom resources before the operator has run.", beginning(),
			"Uninstalls the operator and deletes namespace foo, once there are no volume claims, workloads, Secrets or ConfigMaps of users in namespace foo",
		},
		"Runs": {
			"The message lists the kinds of the operator's custom resources.", runs(owning),
			"Uninstalls foo.v1 and deletes namespace foo, once there are no custom resources of bars.example.com, foos.example.com, " +
				"or volume claims, workloads, Secrets or ConfigMaps of users in namespace foo",
		},
		"Namespace stays": {
			"The message lists no objects of users if the namespace is kept.", runs(owning, unowned),
			"Uninstalls foo.v1, once there are no custom resources of bars.example.com, foos.example.com",
		},
		"Orphan": {
			"With deletionPolicy Orphan nothing is deleted.",
			runs(withOperator(func(op *v1alpha1.PlatformOperator) { op.Spec.DeletionPolicy = v1alpha1.DeletionOrphan })),
			"Nothing is deleted, since deletionPolicy is Orphan: the operator keeps running and is no longer managed",
		},
		"Observe": {
			"With managementPolicy Observe nothing is deleted.",
			runs(withOperator(func(op *v1alpha1.PlatformOperator) { op.Spec.ManagementPolicy = v1alpha1.ManagementObserve })),
			"Nothing is deleted, since managementPolicy is Observe",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, _ := Compute(tc.in)
			if diff := cmp.Diff(tc.want, got.OnDeletion); diff != "" {
				t.Errorf("%s -want +got\n%s", tc.reason, diff)
			}
		})
	}
}

// TestWaitingForUsers verifies that a PlatformOperator is not failing while its deletion waits for users' data, and
// that its composed objects stay in the status.
func TestWaitingForUsers(t *testing.T) {
	in := runs()
	in.Operator.Status, _ = Compute(in)
	got := WaitingForUsers(in, "Waiting for Foo a/one")
	conditions := map[string]string{}
	for _, c := range got.Conditions {
		conditions[c.Type] = fmt.Sprintf("%s/%s", c.Status, c.Reason)
	}
	if diff := cmp.Diff(runningConditions("Synced=False/UsersData", "Ready=False/UsersData"), conditions); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if len(got.Resources) != len(in.Operator.Status.Resources) || got.FailingSince != nil {
		t.Errorf("got %+v", got)
	}
}

// TestWaitingForUsersHolds verifies that Upgradeable follows the Probe while a deletion waits for users' data, also once the Subscription is
// deleted, and that the version and its ClusterServiceVersion stay recorded.
func TestWaitingForUsersHolds(t *testing.T) {
	in := runs(probed("Upgradeable=False/NotUpgradeable: 1 of 2"))
	in.Operator.Status, _ = Compute(runs())
	in.Operator.DeletionTimestamp = &in.Now
	in.Operator.Status = WaitingForUsers(in, "Waiting for Foo a/one")
	in.Subscription, in.CSVs = nil, nil
	got := WaitingForUsers(in, "Waiting for Foo a/one")
	for moment, status := range map[string]v1alpha1.PlatformOperatorStatus{"with": in.Operator.Status, "without": got} {
		if c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionUpgradeable); c.Status != metav1.ConditionFalse {
			t.Errorf("%s its Subscription it is Upgradeable: %+v", moment, c)
		}
		if !slices.ContainsFunc(status.RelatedObjects, func(ref corev1.ObjectReference) bool { return ref.Name == "foo.v1" }) {
			t.Errorf("%s its Subscription it does not name what is installed: %+v", moment, status.RelatedObjects)
		}
		if status.Version != "1.0.0" {
			t.Errorf("%s its Subscription its version is %q", moment, status.Version)
		}
	}
}
