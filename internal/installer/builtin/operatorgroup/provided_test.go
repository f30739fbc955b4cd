package operatorgroup

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// providing returns a CSV that owns one kind in two versions.
func providing(name, kind string, phase olm.ClusterServiceVersionPhase, reason olm.ConditionReason) *v1alpha1.ClusterServiceVersion {
	out := &v1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	for _, version := range []string{"v2", "v1"} {
		out.Spec.CustomResourceDefinitions.Owned = append(out.Spec.CustomResourceDefinitions.Owned,
			olm.CRDDescription{Name: "plural.example.com", Version: version, Kind: kind})
	}
	out.Status.Phase, out.Status.Reason = phase, reason
	return out
}

func TestProvidedAPIs(t *testing.T) {
	const foo, both = "Foo.v1.example.com,Foo.v2.example.com", "Bar.v1.example.com,Bar.v2.example.com,Foo.v1.example.com,Foo.v2.example.com"
	copied := providing("copied", "Bar", olm.CSVPhaseSucceeded, "")
	copied.Labels = map[string]string{olm.CopiedLabelKey: "elsewhere"}
	elsewhere := providing("elsewhere", "Bar", olm.CSVPhaseSucceeded, "")
	elsewhere.Namespace = "elsewhere"
	running := providing("foo.v1", "Foo", olm.CSVPhaseSucceeded, v1alpha1.CSVReasonInstallSuccessful)
	cases := map[string]struct {
		reason string
		static bool
		before *string
		csvs   []*v1alpha1.ClusterServiceVersion
		want   *string
		writes int
	}{
		"None":  {reason: "The annotation is not created for an empty list."},
		"One":   {reason: "The annotation lists the owned kinds of an operator.", csvs: []*v1alpha1.ClusterServiceVersion{running}, want: new(foo), writes: 1},
		"Quiet": {reason: "Nothing is written if the list did not change.", csvs: []*v1alpha1.ClusterServiceVersion{running}, before: new(foo), want: new(foo)},
		"Two": {reason: "The annotation lists the kinds of all operators of the namespace, each once.",
			csvs:   []*v1alpha1.ClusterServiceVersion{running, providing("foo.v2", "Foo", olm.CSVPhasePending, ""), providing("bar", "Bar", olm.CSVPhaseSucceeded, "")},
			before: new(foo), want: new(both), writes: 1},
		"Gone": {reason: "The annotation stays empty after the last operator was deleted, as in OLM.", before: new(foo), want: new(""), writes: 1},
		"Refused": {reason: "An operator in conflict with another OperatorGroup is not counted.",
			csvs:   []*v1alpha1.ClusterServiceVersion{running, providing("bar", "Bar", olm.CSVPhaseFailed, v1alpha1.CSVReasonInterOperatorGroupOwnerConflict)},
			before: new(both), want: new(foo), writes: 1},
		"FailedOtherly": {reason: "An operator that failed for another reason is counted.",
			csvs: []*v1alpha1.ClusterServiceVersion{running, providing("bar", "Bar", olm.CSVPhaseFailed, v1alpha1.CSVReasonInstallCheckFailed)}, want: new(both),
			writes: 1},
		"NotJudged": {reason: "An operator without a phase is not counted, since it may still be in conflict.",
			csvs: []*v1alpha1.ClusterServiceVersion{running, providing("bar", "Bar", olm.CSVPhaseNone, "")}, want: new(foo), writes: 1},
		"OfOthers": {reason: "Copied CSVs and CSVs of other namespaces are not counted.",
			csvs: []*v1alpha1.ClusterServiceVersion{running, copied, elsewhere}, want: new(foo), writes: 1},
		"Static": {reason: "The annotation of a group with static APIs is left unchanged.", static: true, before: new("Bar.v1.example.com"),
			csvs: []*v1alpha1.ClusterServiceVersion{running}, want: new("Bar.v1.example.com")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			const key = operatorsv1.OperatorGroupProvidedAPIsAnnotationKey
			in := group("mine", operatorsv1.OperatorGroupSpec{StaticProvidedAPIs: tc.static})
			in.Annotations = map[string]string{"mine": "stays"}
			if tc.before != nil {
				in.Annotations[key] = *tc.before
			}
			there := []client.Object{in}
			for _, csv := range tc.csvs {
				there = append(there, csv)
			}
			var writes int
			r := reconciler(t, &writes, there...)
			got := &operatorsv1.OperatorGroup{}
			var versions []string
			for range 3 { // the first reconcile also writes the status; the third must be a no-op
				if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(in)}); err != nil {
					t.Fatal(err)
				}
				if err := r.Client.Get(t.Context(), client.ObjectKeyFromObject(in), got); err != nil {
					t.Fatal(err)
				}
				versions = append(versions, got.ResourceVersion)
			}
			want := map[string]string{"mine": "stays"}
			if tc.want != nil {
				want[key] = *tc.want
			}
			if diff := cmp.Diff(want, got.Annotations); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
			if patches != tc.writes || versions[0] != versions[2] {
				t.Errorf("%s\n%d writes of it, and versions %v; want %d", tc.reason, patches, versions, tc.writes)
			}
		})
	}
}

func TestMembershipChanged(t *testing.T) {
	fresh, refused := providing("foo", "Foo", olm.CSVPhaseNone, ""), providing("foo", "Foo", olm.CSVPhaseFailed, v1alpha1.CSVReasonUnsupportedOperatorGroup)
	pending, running := providing("foo", "Foo", olm.CSVPhasePending, ""), providing("foo", "Foo", olm.CSVPhaseSucceeded, "")
	cases := map[string]struct {
		reason        string
		before, after *v1alpha1.ClusterServiceVersion
		want          bool
	}{
		"Judged":     {"The first phase of an operator makes it a member.", fresh, pending, true},
		"Refused":    {"A conflict at first reconcile does not make the operator a member.", fresh, refused, false},
		"Running":    {"A member that starts to run stays a member.", pending, running, false},
		"Conflicted": {"A conflict ends the membership of a running operator.", running, refused, true},
	}
	for name, tc := range cases {
		if got := membershipChanged.Update(event.UpdateEvent{ObjectOld: tc.before, ObjectNew: tc.after}); got != tc.want {
			t.Errorf("%s: %s got %v", name, tc.reason, got)
		}
	}
}
