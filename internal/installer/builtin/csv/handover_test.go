package csv

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/csvchain"
)

func owner(name string, controller *bool) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: "operators.coreos.com/v1alpha1", Kind: "ClusterServiceVersion", Name: name, UID: types.UID("uid-" + name), Controller: controller,
	}
}

func TestHandedOver(t *testing.T) {
	yes, no := new(true), new(false)
	node := metav1.OwnerReference{APIVersion: "v1", Kind: "Node", Name: "node", UID: "uid-node"}
	blocking := owner("v1", yes)
	blocking.BlockOwnerDeletion = yes
	moved := owner("v2", yes)
	moved.BlockOwnerDeletion = yes
	// namesake is an earlier CSV with the name of the old one.
	namesake := owner("v1", yes)
	namesake.UID = "uid-earlier"
	cases := map[string]struct {
		reason  string
		owners  []metav1.OwnerReference
		want    []metav1.OwnerReference
		changed bool
	}{
		"None":     {reason: "An object without owners stays without owners."},
		"Others":   {"What others own stays theirs.", []metav1.OwnerReference{node, owner("w1", no)}, []metav1.OwnerReference{node, owner("w1", no)}, false},
		"Namesake": {"Owners are identified by UID, not by name.", []metav1.OwnerReference{namesake}, []metav1.OwnerReference{namesake}, false},
		"Owner": {"The successor owns in its place, as the controller.", []metav1.OwnerReference{owner("v1", no)}, []metav1.OwnerReference{owner("v2", yes)},
			true},
		"Controller":   {"The successor controls what it controlled.", []metav1.OwnerReference{blocking}, []metav1.OwnerReference{moved}, true},
		"BesideOthers": {"Others stay.", []metav1.OwnerReference{owner("v1", yes), node}, []metav1.OwnerReference{node, owner("v2", yes)}, true},
		"SuccessorIsOwner": {"A successor that is an owner already is so once.", []metav1.OwnerReference{owner("v2", no), owner("v1", no)},
			[]metav1.OwnerReference{owner("v2", yes)}, true},
		"HeirTakesOver": {"And takes over as controller.", []metav1.OwnerReference{owner("v2", nil), owner("v1", yes), node},
			[]metav1.OwnerReference{owner("v2", yes), node}, true},
		"HeirControls": {"Or stays it.", []metav1.OwnerReference{owner("v1", no), owner("v2", yes)}, []metav1.OwnerReference{owner("v2", yes)}, true},
		"OtherControls": {"What another controls it goes on to.", []metav1.OwnerReference{owner("v1", nil), owner("w1", yes)},
			[]metav1.OwnerReference{owner("w1", yes), owner("v2", nil)}, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			before := append([]metav1.OwnerReference{}, tc.owners...)
			got, changed := transferOwnership(tc.owners, csv("v1"), csv("v2"))
			if diff := cmp.Diff(tc.want, got); diff != "" || changed != tc.changed {
				t.Errorf("%s\nchanged %t; want %t (-want +got):\n%s", tc.reason, changed, tc.changed, diff)
			}
			if diff := cmp.Diff(before, append([]metav1.OwnerReference{}, tc.owners...)); diff != "" {
				t.Errorf("What was read was changed:\n%s", diff)
			}
			if again, changed := transferOwnership(got, csv("v1"), csv("v2")); changed {
				t.Errorf("It is handed over twice: %v", again)
			}
		})
	}
}

func TestReplaced(t *testing.T) {
	const succeeded = olm.CSVPhaseSucceeded
	replacing := func(by string) string {
		return "Replacing/BeingReplaced: Being replaced by ClusterServiceVersion " + by
	}
	deleting := func(by string) string { return "Deleting/Replaced: Replaced by ClusterServiceVersion " + by }
	cases := map[string]struct {
		reason string
		csvs   []*v1alpha1.ClusterServiceVersion // the first is decided about
		want   string
	}{
		"Alone":  {"No CSV replaces it.", []*v1alpha1.ClusterServiceVersion{csv("v1"), csv("w1")}, ""},
		"Newest": {"What it replaces does not replace it.", []*v1alpha1.ClusterServiceVersion{csv("v2", replaces("v1")), csv("v1")}, ""},
		"BeingReplaced": {"It stays until the other has Succeeded.", []*v1alpha1.ClusterServiceVersion{csv("v1"), csv("v2", replaces("v1"), phase("Installing"))},
			replacing("v2")},
		"Failed": {"It stays where the other fails.", []*v1alpha1.ClusterServiceVersion{csv("v1"), csv("v2", replaces("v1"), phase("Failed"))},
			replacing("v2")},
		"Replaced": {"It goes once the other has Succeeded.", []*v1alpha1.ClusterServiceVersion{csv("v1"), csv("v2", replaces("v1"), phase(succeeded))},
			deleting("v2")},
		"Chain": {"The newest that has Succeeded takes over, over one that never ran.",
			[]*v1alpha1.ClusterServiceVersion{csv("v1"), csv("v2", replaces("v1"), phase("Replacing")), csv("v3", replaces("v2"), phase(succeeded))}, deleting("v3")},
		"ChainOfTwo": {"Of two that have Succeeded the newest takes over.",
			[]*v1alpha1.ClusterServiceVersion{csv("v1"), csv("v2", replaces("v1"), phase(succeeded)), csv("v3", replaces("v2"), phase(succeeded))}, deleting("v3")},
		"ChainUnderway": {"That which has Succeeded takes over, though it is being replaced in turn.",
			[]*v1alpha1.ClusterServiceVersion{csv("v1"), csv("v2", replaces("v1"), phase(succeeded)), csv("v3", replaces("v2"), phase("Installing"))}, deleting("v2")},
		"SuccessorIsReplaced": {"A version that another has replaced stays replaced while that one is replaced in turn.",
			[]*v1alpha1.ClusterServiceVersion{csv("v1"), csv("v2", replaces("v1"), ran("Replacing")), csv("v3", replaces("v2"), phase("Installing"))},
			deleting("v2")},
		"SuccessorFailsLater": {"Nor does it take over again because the other fails later.",
			[]*v1alpha1.ClusterServiceVersion{csv("v1"), csv("v2", replaces("v1"), ran("Failed"))}, deleting("v2")},
		"ReplacesItself": {"A CSV that replaces itself has no successor.", []*v1alpha1.ClusterServiceVersion{csv("v1", replaces("v1"), phase(succeeded))}, ""},
		"Terminating": {"A CSV that is being deleted no longer replaces another.",
			[]*v1alpha1.ClusterServiceVersion{csv("v1"), csv("v2", replaces("v1"), phase(succeeded), terminating)}, ""},
		"TwoReplaceIt": {"Of two successors, always the first by name is reported.",
			[]*v1alpha1.ClusterServiceVersion{csv("v1"), csv("v2b", replaces("v1")), csv("v2a", replaces("v1"))}, replacing("v2a")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			verdict, err := replaced(about(tc.csvs...))
			if err != nil {
				t.Fatal(err)
			}
			if got := word(verdict); got != tc.want {
				t.Errorf("%s\ngot  %s\nwant %s", tc.reason, got, tc.want)
			}
		})
	}
}

// TestInherited verifies that a CSV stays until the one that it replaced is deleted, which would otherwise have no successor.
func TestInherited(t *testing.T) {
	v1, v2, v3 := csv("v1"), csv("v2", replaces("v1")), csv("v3", replaces("v2"), phase("Succeeded"))
	for name, tc := range map[string]struct {
		reason string
		s      *situation
		want   string
	}{
		"First":  {"It has replaced none.", about(v1, v2, v3), ""},
		"Middle": {"The one before is still handed over.", about(v2, v1, v3), "ClusterServiceVersion v1, which it replaced, still exists"},
		"Gone":   {"Nothing depends on it any more.", about(v2, v3), ""},
		"Itself": {"A CSV that replaces itself waits for no other.", about(csv("v2", replaces("v2")), v3), ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if o := tc.s.predecessorObstacle(); o != nil {
				got = o.message
			}
			if got != tc.want {
				t.Errorf("%s\ngot %q; want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// TestCircle verifies that CSVs that replace each other do not delete each other.
func TestCircle(t *testing.T) {
	a, b := csv("a", replaces("b"), phase("Succeeded")), csv("b", replaces("a"), phase("Succeeded"))
	var deleted []string
	for _, s := range []*situation{about(a, b), about(b, a)} {
		if verdict, _ := replaced(s); verdict != nil && verdict.Phase == olm.CSVPhaseDeleting {
			deleted = append(deleted, s.csv.Name)
		}
	}
	if len(deleted) > 1 {
		t.Errorf("%v delete each other, and the operator is gone", deleted)
	}
}

// TestNewestSuccessorOfRandomGraphs verifies that the search terminates and returns another CSV that has Succeeded, or nil.
func TestNewestSuccessorOfRandomGraphs(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	phases := []olm.ClusterServiceVersionPhase{"", "Failed", "Replacing", "Succeeded"}
	for range 2000 {
		var all []*v1alpha1.ClusterServiceVersion
		for i := range 1 + random.IntN(6) {
			all = append(all, csv(fmt.Sprintf("v%d", i), replaces(fmt.Sprintf("v%d", random.IntN(7))), phase(phases[random.IntN(len(phases))])))
		}
		s := about(all...)
		successor := s.newestSuccessor()
		if successor != nil && (successor == s.csv || !csvchain.Ran(successor)) {
			t.Fatalf("seed %d: the successor is %s in phase %s", seed, successor.Name, successor.Status.Phase)
		}
		if successor != nil && s.successor(s.csv.Name) == nil {
			t.Fatalf("seed %d: %s inherits from a CSV without a successor", seed, successor.Name)
		}
	}
}

func TestMadeByUs(t *testing.T) {
	by := func(gvk schema.GroupVersionKind, managers ...string) *metav1.PartialObjectMetadata {
		out := &metav1.PartialObjectMetadata{}
		out.SetGroupVersionKind(gvk)
		for _, m := range managers {
			out.ManagedFields = append(out.ManagedFields, metav1.ManagedFieldsEntry{Manager: m})
		}
		return out
	}
	config := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	set := func(fields string) *metav1.PartialObjectMetadata {
		out := by(config, "kubectl", "operator-status-csv")
		out.ManagedFields[1].FieldsV1 = metav1.NewFieldsV1(fields)
		return out
	}
	cases := map[string]struct {
		reason string
		object *metav1.PartialObjectMetadata
		want   bool
	}{
		"Users":    {"What a person made, the successor takes over.", by(config, "kubectl", "foo-operator"), false},
		"Nobodys":  {"The successor also takes over an object without a field manager.", by(config), false},
		"OfTheCSV": {"What was applied for the old version goes with it.", by(config, "kubectl", "operator-status-csv"), true},
		"HandedOver": {"What an earlier update handed over is handed over again: we have set nothing but its owner.",
			set(`{"f:metadata":{"f:ownerReferences":{".":{},"k:{\"uid\":\"1\"}":{}}}}`), false},
		"Applied":   {"Of what was applied, the owner is not all that we have set.", set(`{"f:data":{},"f:metadata":{"f:ownerReferences":{}}}`), true},
		"Labelled":  {"Nor is it of what has no more than metadata.", set(`{"f:metadata":{"f:labels":{},"f:ownerReferences":{}}}`), true},
		"OfThePlan": {"So does what its plan brought.", by(config, "operator-status-installplan"), true},
		"Probe":     {"A Probe belongs to one version, whatever its field manager.", by(v1alpha1.GroupVersion.WithKind("Probe"), "kubectl"), true},
		"OperatorCondition": {"So does an OperatorCondition, in either version.",
			by(schema.GroupVersionKind{Group: "operators.coreos.com", Version: "v2", Kind: "OperatorCondition"}), true},
		"OthersProbe": {"A Probe of another API group does not.",
			by(schema.GroupVersionKind{Group: "monitoring.coreos.com", Version: "v1", Kind: "Probe"}, "kubectl"), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := isAppliedObject(tc.object); got != tc.want {
				t.Errorf("%s\ngot %t; want %t", tc.reason, got, tc.want)
			}
		})
	}
}
