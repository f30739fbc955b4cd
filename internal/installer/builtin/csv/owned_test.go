package csv

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/builtin/install"
)

// TestOwnObjects verifies that an object of another operator is not taken over, and that one of an earlier version is.
func TestOwnObjects(t *testing.T) {
	no := new(false)
	earlier := owner("w1", no)
	earlier.UID = "uid-earlier"
	cases := map[string]struct {
		reason string
		csvs   []*v1alpha1.ClusterServiceVersion // the first is installed
		owners []metav1.OwnerReference           // of its Deployment
		want   string                            // the CSV that keeps it
	}{
		"None": {"An object without owners is taken over.", []*v1alpha1.ClusterServiceVersion{csv("v1"), csv("w1")}, nil, ""},
		"Own":  {"It has been applied before.", []*v1alpha1.ClusterServiceVersion{csv("v1"), csv("w1")}, []metav1.OwnerReference{owner("v1", no)}, ""},
		"Other": {"Who owns it keeps it.", []*v1alpha1.ClusterServiceVersion{csv("v1"), csv("w1")},
			[]metav1.OwnerReference{owner("w1", no)}, "w1"},
		"Younger": {"Even if it was created later.", []*v1alpha1.ClusterServiceVersion{csv("v1"), csv("w1", created(2000))},
			[]metav1.OwnerReference{owner("w1", no)}, "w1"},
		"BothOwnAndOlder": {"What belongs to both the older one keeps.", []*v1alpha1.ClusterServiceVersion{csv("v1"), csv("w1", created(2000))},
			[]metav1.OwnerReference{owner("w1", no), owner("v1", no)}, ""},
		"BothOwnAndYounger": {"And the younger one gives way.", []*v1alpha1.ClusterServiceVersion{csv("v1", created(2000)), csv("w1")},
			[]metav1.OwnerReference{owner("v1", no), owner("w1", no)}, "w1"},
		"Replaced": {"The version that it replaces hands it over.", []*v1alpha1.ClusterServiceVersion{csv("v2", replaces("v1")), csv("v1")},
			[]metav1.OwnerReference{owner("v1", no)}, ""},
		"ReplacedInTwo": {"Be it in several steps.", []*v1alpha1.ClusterServiceVersion{csv("v3", replaces("v2")), csv("v2", replaces("v1")), csv("v1")},
			[]metav1.OwnerReference{owner("v1", no)}, ""},
		"Successor": {"A version that is deleted before it ran gives it back.", []*v1alpha1.ClusterServiceVersion{csv("v1"), csv("v2", replaces("v1"), terminating)},
			[]metav1.OwnerReference{owner("v2", no)}, ""},
		"Sibling": {"Two versions that replace the same one are two operators.",
			[]*v1alpha1.ClusterServiceVersion{csv("v2b", replaces("v1")), csv("v2a", replaces("v1")), csv("v1")}, []metav1.OwnerReference{owner("v2a", no)}, "v2a"},
		"Gone": {"One that no longer exists keeps nothing.", []*v1alpha1.ClusterServiceVersion{csv("v1")}, []metav1.OwnerReference{owner("w1", no)}, ""},
		"Namesake": {"Nor does one of the same name that was created since.", []*v1alpha1.ClusterServiceVersion{csv("v1"), csv("w1")},
			[]metav1.OwnerReference{earlier}, ""},
		"Copied": {"A copied CSV owns nothing.", []*v1alpha1.ClusterServiceVersion{csv("v1"), csv("w1", copied)}, []metav1.OwnerReference{owner("w1", no)}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			deployment, account := desiredDeployment(), desiredAccount()
			deployment.OwnerReferences, account.OwnerReferences = tc.owners, tc.owners
			r := reconciler(t, append(objects(tc.csvs...), deployment, account)...)
			s := &situation{csv: tc.csvs[0]}
			var err error
			if s.csvs, err = r.related(t.Context(), s.csv); err != nil {
				t.Fatal(err)
			}
			verdict, err := r.ownObjects(t.Context(), s, install.Rendered{Objects: []install.Object{{Object: desiredAccount()}, {Object: desiredDeployment()}}})
			if err != nil {
				t.Fatal(err)
			}
			want := ""
			if tc.want != "" {
				want = "Failed/OwnerConflict: ClusterServiceVersion default/" + tc.want + " already owns Deployment foo: uninstall one of the two operators"
			}
			if got := word(verdict); got != want {
				t.Errorf("%s\ngot  %s\nwant %s", tc.reason, got, want)
			}
			if verdict != nil && verdict.Again < time.Second {
				t.Errorf("it is tried again after %s", verdict.Again)
			}
		})
	}
}

// TestDeploymentOfAnotherOperator verifies that the Deployment of another operator is neither overwritten nor deleted.
func TestDeploymentOfAnotherOperator(t *testing.T) {
	for name, selector := range map[string]*metav1.LabelSelector{"SameSelector": nil, "OtherSelector": {MatchLabels: map[string]string{"app": "other"}}} {
		t.Run(name, func(t *testing.T) {
			mine, other := csv("v1", deploying("foo")), csv("w1")
			theirs := desiredDeployment()
			theirs.OwnerReferences, theirs.Spec.Selector = []metav1.OwnerReference{owner("w1", new(false))}, selector
			r := reconciler(t, mine, other, theirs)
			s := about(mine)
			s.installer = func() (client.Client, error) { return r.Client, nil }
			verdict, err := r.install(t.Context(), s)
			if err != nil || verdict == nil || verdict.Reason != v1alpha1.CSVReasonOwnerConflict {
				t.Errorf("got %s, %v; want a conflict", word(verdict), err)
			}
			got := &appsv1.Deployment{}
			if err := r.Client.Get(t.Context(), client.ObjectKeyFromObject(theirs), got); err != nil {
				t.Fatal(err)
			}
			if len(got.OwnerReferences) != 1 || got.OwnerReferences[0].Name != "w1" || len(got.Spec.Template.Spec.Containers) != 1 {
				t.Errorf("it was changed: %+v", got)
			}
		})
	}
}
