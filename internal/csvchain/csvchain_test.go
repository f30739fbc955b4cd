package csvchain

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

func csv(name, replaces string, phase olm.ClusterServiceVersionPhase) *v1alpha1.ClusterServiceVersion {
	out := &v1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	out.Spec.Replaces = replaces
	out.Status.Phase = phase
	return out
}

// chain creates ClusterServiceVersions from strings such as "v2>v1:Succeeded": v2, which replaces v1 and has Succeeded.
func chain(words ...string) map[string]*v1alpha1.ClusterServiceVersion {
	out := map[string]*v1alpha1.ClusterServiceVersion{}
	for _, word := range words {
		names, phase, _ := strings.Cut(word, ":")
		name, replaces, _ := strings.Cut(names, ">")
		phase, ran, _ := strings.Cut(phase, " ")
		out[name] = csv(name, replaces, olm.ClusterServiceVersionPhase(phase))
		if ran == "ran" {
			out[name].Status.LastTransitions = []v1alpha1.ClusterServiceVersionTransition{{Phase: "Succeeded"}, {Phase: olm.ClusterServiceVersionPhase(phase)}}
		}
	}
	return out
}

func TestNewest(t *testing.T) {
	cases := map[string]struct {
		reason string
		csvs   map[string]*v1alpha1.ClusterServiceVersion
		want   []string
	}{
		"None":           {"No CSV is the newest of none.", nil, nil},
		"Chain":          {"The newest CSV is the end of the chain.", chain("v1", "v2>v1", "v3>v2"), []string{"v3"}},
		"Several":        {"Each chain has its newest CSV, and they are sorted by name.", chain("b2>b1", "b1", "a1"), []string{"a1", "b2"}},
		"ReplacesItself": {"A CSV that replaces itself replaces no other.", chain("v1>v1"), []string{"v1"}},
		"ReplacesAbsent": {"A CSV may replace one that does not exist.", chain("v2>v1"), []string{"v2"}},
		"TwoReplaceOne":  {"Two CSVs that replace the same one are both the newest.", chain("v1", "v2a>v1", "v2b>v1"), []string{"v2a", "v2b"}},
		"Cycle":          {"A cycle has no newest CSV, and CSVs outside it are found.", chain("v1>v2", "v2>v1", "w1"), []string{"w1"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, c := range Newest(tc.csvs) {
				got = append(got, c.Name)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestFrom(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		csvs   map[string]*v1alpha1.ClusterServiceVersion
		want   []string
	}{
		"One":       {"Those of other operators are not among them.", chain("v1", "w1"), []string{"v1"}},
		"Later":     {"All that replace it are.", chain("v1", "v2>v1", "v3>v2"), []string{"v1", "v2", "v3"}},
		"Replaced":  {"Also if it does not exist any longer.", chain("v3>v2", "v2>v1"), []string{"v2", "v3"}},
		"Earlier":   {"The one that it replaces is not.", chain("v1>v0", "v0"), []string{"v1"}},
		"Cycle":     {"Each is returned once.", chain("v1>v2", "v2>v1"), []string{"v1", "v2"}},
		"Unrelated": {"A gap ends the chain.", chain("v3>v2"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, c := range From(tc.csvs, []string{"v1"}) {
				got = append(got, c.Name)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestRunning(t *testing.T) {
	cases := map[string]struct {
		reason string
		csvs   map[string]*v1alpha1.ClusterServiceVersion
		from   string
		want   string
	}{
		"FirstInstall":    {"A first install has no running CSV.", chain("v1:Pending"), "", ""},
		"Gone":            {"A replaced CSV that no longer exists is not running.", chain("v2>v1:Pending"), "v1", ""},
		"Succeeded":       {"A CSV that succeeded is the running one.", chain("v1:Succeeded", "v2>v1"), "v1", "v1"},
		"Replacing":       {"A CSV that is being replaced is the running one.", chain("v1:Replacing"), "v1", "v1"},
		"Deleting":        {"A CSV that is being deleted is the running one.", chain("v1:Deleting"), "v1", "v1"},
		"FailedNow":       {"A CSV that ran before is the running one although it fails now.", chain("v1:Failed ran", "v0:Succeeded"), "v1", "v1"},
		"SkipsTheUnrun":   {"A CSV that never ran is skipped for the one that it replaces.", chain("v1:Replacing", "v2>v1:Failed", "v3>v2:Pending"), "v3", "v1"},
		"NoneRan":         {"If no CSV ever ran, the oldest existing one is the running one.", chain("v1:Failed", "v2>v1:Failed"), "v2", "v1"},
		"ReplacesItself":  {"The search ends at a CSV that replaces itself.", chain("v1>v1:Failed"), "v1", "v1"},
		"Cycle":           {"The search ends in a cycle.", chain("v1>v3:Failed", "v2>v1:Failed", "v3>v2:Failed"), "v3", "v1"},
		"CycleWithOneRan": {"The search finds a CSV that ran in a cycle.", chain("v1>v3:Replacing", "v2>v1:Failed", "v3>v2:Failed"), "v3", "v1"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := ""
			if c := Running(tc.csvs, tc.from); c != nil {
				got = c.Name
			}
			if got != tc.want {
				t.Errorf("%s\ngot %q; want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// TestRunningRandom verifies for random chains, cyclic ones included, that Newest and Running terminate and return
// consistent results.
func TestRunningRandom(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	phases := []string{"", "Pending", "Failed", "Failed ran", "Replacing", "Succeeded"}
	for range 2000 {
		n := random.IntN(6)
		var words []string
		for i := range n {
			words = append(words, fmt.Sprintf("v%d>v%d:%s", i, random.IntN(7), phases[random.IntN(len(phases))]))
		}
		csvs := chain(words...)
		for _, c := range Newest(csvs) {
			for _, other := range csvs {
				if other.Spec.Replaces == c.Name && other.Name != c.Name {
					t.Fatalf("seed %d: %s is the newest of %v although %s replaces it", seed, c.Name, words, other.Name)
				}
			}
		}
		from := fmt.Sprintf("v%d", random.IntN(7))
		running := Running(csvs, from)
		if (running == nil) != (csvs[from] == nil) {
			t.Fatalf("seed %d: Running from %s in %v returns %v", seed, from, words, running)
		}
		if running != nil && Ran(csvs[from]) && running.Name != from {
			t.Fatalf("seed %d: %s has run, but of %v %s is returned as running", seed, from, words, running.Name)
		}
	}
}
