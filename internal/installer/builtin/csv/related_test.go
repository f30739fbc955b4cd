package csv

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

func TestRelated(t *testing.T) {
	cases := map[string]struct {
		reason  string
		csvs    []*v1alpha1.ClusterServiceVersion // the first changes
		chain   string
		sharing string
		related string
	}{
		"Alone": {"An operator does not depend on the others of its namespace.",
			[]*v1alpha1.ClusterServiceVersion{csv("a1"), csv("b1"), csv("c1", replaces("b1"))}, "a1", "", "a1"},
		"Middle": {"A version depends on all before and after it.",
			[]*v1alpha1.ClusterServiceVersion{csv("a2", replaces("a1")), csv("a1", replaces("a0")), csv("a0"), csv("a3", replaces("a2")), csv("a4", replaces("a3"))},
			"a0 a1 a2 a3 a4", "", "a0 a1 a2 a3 a4"},
		"Gap": {"A version that is gone ends the chain.",
			[]*v1alpha1.ClusterServiceVersion{csv("a2", replaces("a1")), csv("a3", replaces("a2")), csv("b1", replaces(""))}, "a2 a3", "", "a2 a3"},
		"Cycle": {"A cycle ends.",
			[]*v1alpha1.ClusterServiceVersion{csv("a1", replaces("a2")), csv("a2", replaces("a1")), csv("b1", replaces("b1"))}, "a1 a2", "", "a1 a2"},
		"Kind": {"The chains of those that own one of its kinds tell which versions of an operator do.",
			[]*v1alpha1.ClusterServiceVersion{csv("a1", owning("foos.example.com")), csv("b1", owning("foos.example.com")), csv("b2", replaces("b1")),
				csv("c1", owning("bars.example.com"))}, "a1", "a1 b1", "a1 b1 b2"},
		"Elsewhere": {"Those of other namespaces, and copies of these, have no part in it.",
			[]*v1alpha1.ClusterServiceVersion{csv("a2", replaces("a1"), owning("foos.example.com")), csv("a1", copied), csv("a3", replaces("a2"), elsewhere),
				csv("b1", owning("foos.example.com"), copied)}, "a2", "a2", "a2"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := reconciler(t, objects(tc.csvs...)...)
			related, err := r.related(t.Context(), tc.csvs[0])
			if err != nil {
				t.Fatal(err)
			}
			var found []string
			for name := range related {
				found = append(found, name)
			}
			slices.Sort(found)
			for _, c := range []struct{ function, got, want string }{
				{"related", strings.Join(found, " "), tc.related},
				{"enqueueChain", names(r.enqueueChain(t.Context(), tc.csvs[0])), tc.chain},
				{"enqueueSharing", names(r.enqueueSharing(t.Context(), tc.csvs[0])), tc.sharing},
			} {
				if c.got != c.want {
					t.Errorf("%s\n%s: got %q; want %q", tc.reason, c.function, c.got, c.want)
				}
			}
		})
	}
}

func TestOfSubscription(t *testing.T) {
	of := func(name string) option {
		return func(c *v1alpha1.ClusterServiceVersion) {
			c.Annotations = map[string]string{v1alpha1.AnnotationSubscription: name}
		}
	}
	r := reconciler(t, csv("a1", of("a")), csv("a2", of("a")), csv("b1", of("b")), csv("c1"), csv("a3", of("a"), elsewhere))
	sub := &v1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}}
	if got, want := names(r.ofSubscription(t.Context(), sub)), "a1 a2"; got != want {
		t.Errorf("The CSVs that were installed for a Subscription: got %q; want %q", got, want)
	}
	sub.Status.InstalledCSV = "c1"
	if got, want := names(r.ofSubscription(t.Context(), sub)), "a1 a2 c1"; got != want {
		t.Errorf("The one that it reports as installed, too: got %q; want %q", got, want)
	}
}

// TestCovering verifies that a CSV is enqueued when a namespace that its OperatorGroup names or may select appears.
func TestCovering(t *testing.T) {
	selecting := targets()
	selecting.Namespace, selecting.Spec.Selector = "default", &metav1.LabelSelector{}
	r := reconciler(t, csv("a1"), csv("b1", elsewhere), selecting, targets("named"))
	for name, want := range map[string]string{"named": "a1 other/b1", "unnamed": "a1"} {
		appeared := namespace()
		appeared.Name = name
		if got := names(r.covering(t.Context(), appeared)); got != want {
			t.Errorf("namespace %s: got %q; want %q", name, got, want)
		}
	}
}

// names returns the sorted names of requests in namespace default.
func names(requests []reconcile.Request) string {
	var out []string
	for _, request := range requests {
		out = append(out, strings.TrimPrefix(request.String(), "default/"))
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), " ")
}
