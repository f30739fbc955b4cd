package csvchain

import (
	"slices"
	"testing"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// TestSubscriptionOf verifies that always the same Subscription configures a CSV, in whatever order the cache lists them.
func TestSubscriptionOf(t *testing.T) {
	sub := func(name, pkg, installed string, created int64) v1alpha1.Subscription {
		out := v1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, CreationTimestamp: metav1.Unix(created, 0)}}
		out.Spec, out.Status.InstalledCSV = &olm.SubscriptionSpec{Package: pkg}, installed
		return out
	}
	plain, installedFor := csv("v1", "", ""), csv("v1", "", "")
	installedFor.Annotations = map[string]string{
		v1alpha1.AnnotationSubscription: "mine",
		AnnotationProperties:            `{"properties":[{"type":"olm.package","value":{"packageName":"foo","version":"1.0.0"}}]}`,
	}
	empty := sub("empty", "foo", "v1", 1)
	empty.Spec = nil
	for name, tc := range map[string]struct {
		reason string
		csv    *v1alpha1.ClusterServiceVersion
		subs   []v1alpha1.Subscription
		want   string
	}{
		"None": {"None has installed it.", plain, []v1alpha1.Subscription{sub("a", "foo", "", 1), sub("b", "foo", "v0", 1)}, ""},
		"Named": {"The one that it was installed for comes before an older one.", installedFor,
			[]v1alpha1.Subscription{sub("older", "foo", "v1", 1), sub("mine", "foo", "", 2)}, "mine"},
		"OtherPackage": {"A Subscription of that name to another package is another one.", installedFor,
			[]v1alpha1.Subscription{sub("mine", "bar", "", 1), sub("other", "foo", "v1", 2)}, "other"},
		"NamedGone": {"Of the others the oldest counts.", installedFor, []v1alpha1.Subscription{sub("a", "foo", "v1", 2), sub("b", "foo", "v1", 1)}, "b"},
		"Oldest":    {"So it does for a CSV that names none.", plain, []v1alpha1.Subscription{sub("a", "foo", "v1", 2), sub("b", "foo", "v1", 1)}, "b"},
		"SameAge":   {"Of the same age the first by name counts.", plain, []v1alpha1.Subscription{sub("b", "foo", "v1", 1), sub("a", "foo", "v1", 1)}, "a"},
		"NoSpec":    {"One without a spec subscribes to nothing.", plain, []v1alpha1.Subscription{empty, sub("other", "foo", "v1", 2)}, "other"},
	} {
		t.Run(name, func(t *testing.T) {
			reversed := slices.Clone(tc.subs)
			slices.Reverse(reversed)
			for _, subs := range [][]v1alpha1.Subscription{tc.subs, reversed} {
				got := ""
				if found := SubscriptionOf(tc.csv, subs); found != nil {
					got = found.Name
				}
				if got != tc.want {
					t.Errorf("%s\ngot %q; want %q", tc.reason, got, tc.want)
				}
			}
		})
	}
}
