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
		"None":  {reason: "An empty list is not begun."},
		"One":   {reason: "Each version of each kind, sorted.", csvs: []*v1alpha1.ClusterServiceVersion{running}, want: new(foo), writes: 1},
		"Quiet": {reason: "Where nothing changed, nothing is written.", csvs: []*v1alpha1.ClusterServiceVersion{running}, before: new(foo), want: new(foo)},
		"Two": {reason: "Those of all operators of the namespace, each once.",
			csvs:   []*v1alpha1.ClusterServiceVersion{running, providing("foo.v2", "Foo", olm.CSVPhasePending, ""), providing("bar", "Bar", olm.CSVPhaseSucceeded, "")},
			before: new(foo), want: new(both), writes: 1},
		"Gone": {reason: "With the last operator the list empties, and stays, as in OLM.", before: new(foo), want: new(""), writes: 1},
		"Refused": {reason: "One that was refused is no member.",
			csvs:   []*v1alpha1.ClusterServiceVersion{running, providing("bar", "Bar", olm.CSVPhaseFailed, v1alpha1.CSVReasonInterOperatorGroupOwnerConflict)},
			before: new(both), want: new(foo), writes: 1},
		"FailedOtherly": {reason: "One that failed is a member all the same.",
			csvs: []*v1alpha1.ClusterServiceVersion{running, providing("bar", "Bar", olm.CSVPhaseFailed, v1alpha1.CSVReasonInstallCheckFailed)}, want: new(both),
			writes: 1},
		"NotJudged": {reason: "One that nothing was decided about may be refused yet.",
			csvs: []*v1alpha1.ClusterServiceVersion{running, providing("bar", "Bar", olm.CSVPhaseNone, "")}, want: new(foo), writes: 1},
		"OfOthers": {reason: "Copies and other namespaces do not count.", csvs: []*v1alpha1.ClusterServiceVersion{running, copied, elsewhere}, want: new(foo),
			writes: 1},
		"Static": {reason: "A static list is the administrator's.", static: true, before: new("Bar.v1.example.com"),
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
		"Judged":     {"It begins to count.", fresh, pending, true},
		"Refused":    {"It does not count, nor did it.", fresh, refused, false},
		"Running":    {"It counted before.", pending, running, false},
		"Conflicted": {"It counts no more.", running, refused, true},
	}
	for name, tc := range cases {
		if got := membershipChanged.Update(event.UpdateEvent{ObjectOld: tc.before, ObjectNew: tc.after}); got != tc.want {
			t.Errorf("%s: %s got %v", name, tc.reason, got)
		}
	}
}
