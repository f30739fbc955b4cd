package upgradehold

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
)

// denying returns an UpgradeHold by operator-status whose status denies updates.
func denying(name, message string, d holdv1alpha1.DeniedUpdates) holdv1alpha1.UpgradeHold {
	out := holdv1alpha1.UpgradeHold{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{holdv1alpha1.LabelReported: "true"}}}
	out.Status.Message, out.Status.Denied = message, &d
	return out
}

// byHand returns an UpgradeHold as one of a user.
func byHand(h holdv1alpha1.UpgradeHold) holdv1alpha1.UpgradeHold {
	h.Labels = nil
	return h
}

// caused returns an UpgradeHold with a cause that may be overridden by a command, or cannot be if that is empty.
func caused(h holdv1alpha1.UpgradeHold, override string) holdv1alpha1.UpgradeHold {
	h.Status.Holds = []holdv1alpha1.HoldCause{{By: "OperatorCondition foo/foo", Override: override}}
	return h
}

// other returns what denies the updates of another workload.
func other() holdv1alpha1.DeniedUpdates {
	out := workload(nil)
	out.Workloads[0].Name = "bar"
	return out
}

func workload(except []string, definitions ...string) holdv1alpha1.DeniedUpdates {
	return holdv1alpha1.DeniedUpdates{
		Workloads: []holdv1alpha1.DeniedWorkload{{Kind: "Deployment", Namespace: "foo", Name: "foo", Except: except}}, CustomResourceDefinitions: definitions,
	}
}

func plans() holdv1alpha1.DeniedUpdates {
	return holdv1alpha1.DeniedUpdates{InstallPlans: &holdv1alpha1.DeniedInstallPlans{
		Namespace: "foo", Versions: []string{"foo.v3"}, Pattern: `^foo\.`, Except: []string{"foo.v2"},
	}}
}

func revisions(owner, namespace string, statuses ...string) holdv1alpha1.DeniedUpdates {
	return holdv1alpha1.DeniedUpdates{Revisions: &holdv1alpha1.DeniedRevisions{
		Owner: owner, Namespace: namespace, Release: "foo", Statuses: statuses,
	}}
}

func TestIndex(t *testing.T) {
	deleted := denying("deleted", "busy", workload(nil))
	deleted.DeletionTimestamp = new(metav1.Unix(1, 0))
	cases := map[string]struct {
		reason string
		holds  []holdv1alpha1.UpgradeHold
		want   map[string]Part
	}{
		"None":    {"The policies cost nothing while nothing is held.", nil, map[string]Part{}},
		"NotHeld": {"An UpgradeHold that ended denies nothing.", []holdv1alpha1.UpgradeHold{{}}, map[string]Part{}},
		"Deleted": {"One that is being deleted denies nothing.", []holdv1alpha1.UpgradeHold{deleted}, map[string]Part{}},
		"OLM": {
			"InstallPlans are found by their namespace, and one entry is for each UpgradeHold.",
			[]holdv1alpha1.UpgradeHold{denying("a", "busy\nnow", plans())},
			map[string]Part{"upgradeholds-installplans-1-of-1": {"installplans", map[string]string{
				"foo_ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb": "foo.v2\nfoo.v3\n^foo\\.\nbusy now",
			}}},
		},
		"Workload": {
			"A workload and the CRDs that it serves are found by their names.",
			[]holdv1alpha1.UpgradeHold{denying("a", "busy", workload([]string{"foo:2"}, "foos.example.com"))},
			map[string]Part{
				"upgradeholds-workloads-1-of-1":   {"workloads", map[string]string{"Deployment_foo_foo": "foo:2\n\n^$\nbusy"}},
				"upgradeholds-definitions-1-of-1": {"definitions", map[string]string{"foos.example.com": "\n\n^$\nbusy"}},
			},
		},
		"ByUser": {
			"The annotation of a workload does not end the hold of a user, also if the operator holds, too.",
			[]holdv1alpha1.UpgradeHold{denying("a", "busy", workload(nil)), byHand(denying("b", "audit", workload(nil)))},
			map[string]Part{"upgradeholds-workloads-1-of-1": {"workloads", map[string]string{"Deployment_foo_foo": "\nuser\n^$\nbusy; audit"}}},
		},
		"Releases": {
			"Helm's records are in the namespace of the release, those of operator-controller in its own.",
			[]holdv1alpha1.UpgradeHold{
				denying("a", "busy", revisions("", "foo", "pending-upgrade")),
				denying("b", "idle", revisions("operator-controller", "", "pending-upgrade")),
			},
			map[string]Part{"upgradeholds-revisions-1-of-1": {"revisions", map[string]string{
				"helm_foo_foo":             "\npending-upgrade\n^$\nbusy",
				"operator-controller__foo": "\npending-upgrade\n^$\nidle",
			}}},
		},
		"Overridden": {
			"Nor does it end what a user sets in the overrides of an OperatorCondition.",
			[]holdv1alpha1.UpgradeHold{caused(denying("a", "audit", workload(nil)), ""), caused(denying("b", "busy", other()), "kubectl annotate")},
			map[string]Part{"upgradeholds-workloads-1-of-1": {"workloads", map[string]string{
				"Deployment_foo_foo": "\nuser\n^$\naudit", "Deployment_foo_bar": "\n\n^$\nbusy",
			}}},
		},
		"Chart": {
			"What allows the update of a CustomResourceDefinition is the revision of the release, or the image of a workload.",
			[]holdv1alpha1.UpgradeHold{
				denying("a", "busy: allow <version>", holdv1alpha1.DeniedUpdates{
					Revisions: revisions("", "foo", "pending-upgrade").Revisions, CustomResourceDefinitions: []string{"foos.example.com"},
				}),
				denying("b", "idle: allow <version>", workload(nil, "bars.example.com")),
			},
			map[string]Part{
				"upgradeholds-revisions-1-of-1": {"revisions", map[string]string{"helm_foo_foo": "\npending-upgrade\n^$\nbusy: allow <version>"}},
				"upgradeholds-workloads-1-of-1": {"workloads", map[string]string{"Deployment_foo_foo": "\n\n^$\nidle: allow <version>"}},
				"upgradeholds-definitions-1-of-1": {"definitions", map[string]string{
					"foos.example.com": "\n\n^$\nbusy: allow REVISION", "bars.example.com": "\n\n^$\nidle: allow IMAGE",
				}},
			},
		},
		"Two": {
			"A version is allowed if both UpgradeHolds of an object allow it, whatever their order.",
			[]holdv1alpha1.UpgradeHold{
				denying("b", "audit", workload([]string{"foo:2", "foo:3"})), denying("a", "busy", workload([]string{"foo:3", "foo:4"})),
			},
			map[string]Part{"upgradeholds-workloads-1-of-1": {"workloads", map[string]string{
				"Deployment_foo_foo": "foo:3\n\n^$\nbusy; audit",
			}}},
		},
		"Statuses": {
			"What one of two UpgradeHolds denies is denied.",
			[]holdv1alpha1.UpgradeHold{
				denying("a", "busy", revisions("", "foo", "pending-upgrade")),
				denying("b", "audit", revisions("", "foo", "pending-upgrade", "pending-rollback")),
			},
			map[string]Part{"upgradeholds-revisions-1-of-1": {"revisions", map[string]string{
				"helm_foo_foo": "\npending-upgrade,pending-rollback\n^$\nbusy; audit",
			}}},
		},
		"Injection": {
			"A version that a user allows cannot add lines to the entry.", []holdv1alpha1.UpgradeHold{denying("a", "busy", workload([]string{"a\nb", "foo:2"}))},
			map[string]Part{"upgradeholds-workloads-1-of-1": {"workloads", map[string]string{"Deployment_foo_foo": "foo:2\n\n^$\nbusy"}}},
		},
		"LongName": {
			"A name that no key can have is left out.", []holdv1alpha1.UpgradeHold{denying("a", "busy", revisions("", "foo-"+strings.Repeat("f", 250), "pending-upgrade"))},
			map[string]Part{},
		},
		"TooLarge": {
			"An entry that is too large for a ConfigMap is left out, and the others stay as they are.",
			[]holdv1alpha1.UpgradeHold{denying("a", "busy", workload([]string{strings.Repeat("i", 1<<20)}, "foos.example.com")), denying("b", "idle", other())},
			map[string]Part{
				"upgradeholds-workloads-1-of-1":   {"workloads", map[string]string{"Deployment_foo_bar": "\n\n^$\nidle"}},
				"upgradeholds-definitions-1-of-1": {"definitions", map[string]string{"foos.example.com": "\n\n^$\nbusy"}},
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Index(tc.holds)); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// partsOf returns the index of UpgradeHolds that deny that.
func partsOf(denied ...holdv1alpha1.DeniedUpdates) []Part {
	var holds []holdv1alpha1.UpgradeHold
	for i, d := range denied {
		holds = append(holds, denying(fmt.Sprint(i), "busy", d))
	}
	return slices.Collect(maps.Values(Index(holds)))
}

func TestIndexed(t *testing.T) {
	large := workload([]string{strings.Repeat("i", 1<<20)})
	cases := map[string]struct {
		reason string
		parts  []Part
		denied holdv1alpha1.DeniedUpdates
		want   bool
	}{
		"Missing":  {"What is not in the index is not denied.", nil, workload(nil), false},
		"Workload": {"A workload and its CRDs are.", partsOf(workload(nil, "foos.example.com")), workload(nil, "foos.example.com"), true},
		"NoCRD":    {"A CRD is missing.", partsOf(workload(nil)), workload(nil, "foos.example.com"), false},
		"Allowed":  {"An image was allowed and is no longer.", partsOf(workload([]string{"foo:1", "foo:2"})), workload([]string{"foo:1"}), false},
		"Stricter": {"Another hold of the workload allows less.", partsOf(workload(nil), workload([]string{"foo:2"})), workload([]string{"foo:2"}), true},
		"Rollback": {"Rollbacks are to be denied, too.", partsOf(revisions("", "foo", "pending-upgrade")), revisions("", "foo", "pending-upgrade", "pending-rollback"), false},
		"Parts":    {"Any part may have it.", append(make([]Part, 3), partsOf(workload(nil))...), workload(nil), true},
		"TooLarge": {"One that no part can have is not.", partsOf(large, other()), large, false},
		"OLM":      {"InstallPlans are looked up, too.", partsOf(plans()), plans(), true},
		"NoPlan":   {"Until then they are not denied.", partsOf(workload(nil)), plans(), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := indexed(tc.parts, new(denying("0", "", tc.denied)), &tc.denied); got != tc.want {
				t.Errorf("%s\ngot %t", tc.reason, got)
			}
		})
	}
}

// TestIndexParts verifies that the index of any number of UpgradeHolds has all of them once, in parts that etcd can store.
func TestIndexParts(t *testing.T) {
	var images []string
	for i := range 50 {
		images = append(images, fmt.Sprintf("%0512d", i))
	}
	cases := map[string]struct {
		reason string
		n      int
		except []string
		want   int
	}{
		"Few":   {"One part is written and evaluated.", 200, nil, 1},
		"Many":  {"A change writes a part and not all of them.", 5000, nil, 16},
		"Large": {"Many images are allowed.", 200, images, 16},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var holds []holdv1alpha1.UpgradeHold
			for i := range tc.n {
				d := workload(tc.except)
				d.Workloads[0].Name = fmt.Sprint(i)
				holds = append(holds, denying(fmt.Sprint(i), strings.Repeat("b", 5000), d))
			}
			parts, seen := Index(holds), map[string]bool{}
			for name, part := range parts {
				for key := range part.Data {
					if seen[key] {
						t.Errorf("%s is in two parts", key)
					}
					seen[key] = true
				}
				content, err := json.Marshal(part)
				if err != nil || len(content) > 1<<20 {
					t.Errorf("%s has %d bytes, error: %v", name, len(content), err)
				}
			}
			if len(seen) != tc.n || len(parts) > tc.want {
				t.Errorf("%s\nthe index has %d of %d, in %d parts, want %d", tc.reason, len(seen), tc.n, len(parts), tc.want)
			}
		})
	}
}

// TestIndexFull verifies that a tenant whose workloads all get into one part does not make it too large to be written, nor take the place of
// others there.
func TestIndexFull(t *testing.T) {
	part := func(d holdv1alpha1.DeniedUpdates) uint32 {
		hash := fnv.New32a()
		fmt.Fprintf(hash, "Deployment_foo_%s", d.Workloads[0].Name)
		return hash.Sum32() % mostParts
	}
	except := slices.Repeat([]string{strings.Repeat("i", 500)}, 50) // 20 of them do not leave room for one with 48
	its := other()
	its.Workloads[0].Except = except[:48]
	holds := []holdv1alpha1.UpgradeHold{denying("other", "busy", its)}
	for i := 0; len(holds) < 50; i++ {
		d := workload(except)
		if d.Workloads[0].Name = fmt.Sprint("a", i); part(d) == part(its) {
			holds = append(holds, denying(fmt.Sprint(i), "busy", d))
		}
	}
	index := Index(holds)
	if len(index) != 1 {
		t.Fatalf("the index has %d parts, want 1", len(index))
	}
	for name, part := range index {
		size := 0
		for key, text := range part.Data {
			size += len(key) + len(text)
		}
		if size > mostBytes || size < mostBytes-mostEntryBytes {
			t.Errorf("%s has %d bytes", name, size)
		}
	}
	for range 3 {
		if diff := cmp.Diff(index, Index(holds)); diff != "" {
			t.Fatalf("the index changes:\n%s", diff)
		}
	}
	if parts := slices.Collect(maps.Values(index)); !indexed(parts, &holds[0], holds[0].Status.Denied) {
		t.Error("the index does not have the smallest entry")
	}
}
