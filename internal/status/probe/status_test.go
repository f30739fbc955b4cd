package probe

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/observed"
	"github.com/operator-status/operator-status/internal/status/condition"
	"github.com/operator-status/operator-status/internal/test/golden"
)

const generation = 3

// read returns a resource that has been read completely.
func read(counts observed.Counts, items ...observed.Item) Resource {
	return Resource{CRD: "foos.example.com", Kind: "Foo", Read: []Read{{Snapshot: observed.Snapshot{Filled: true, Counts: counts, Items: items}}}}
}

func blocking(name string) observed.Item {
	return observed.Item{Namespace: "default", Name: name, Explanation: observed.Explanation{Blocks: "Migrating is True", Reasons: []string{"!Migrating"}}}
}

func importantItem(name string) observed.Item {
	return observed.Item{Namespace: "default", Name: name, Explanation: observed.Explanation{Important: "BadConnectivity is True", Reasons: []string{"BadConnectivity"}}}
}

// malformed returns a custom resource with conditions that cannot be read.
func malformed(name, conditions string) observed.Item {
	return observed.Item{Namespace: "default", Name: name, Explanation: observed.Explanation{Unreadable: conditions, Reasons: strings.Split(conditions, ", ")}}
}

func listedUnreadable(name string, conditions ...string) v1alpha1.ProbeResourceStatus {
	out := listed(name, false, conditions...)
	out.Unreadable = true
	return out
}

// unreadable returns a resource that cannot be read.
func unreadable(reason string) Resource {
	return Resource{CRD: "foos.example.com", Kind: "Foo", Problems: []condition.Problem{{Reason: reason, Message: reason + " it is"}}}
}

func listed(name string, isBlocking bool, reasons ...string) v1alpha1.ProbeResourceStatus {
	return v1alpha1.ProbeResourceStatus{
		Resource: "foos.example.com", Kind: "Foo", Namespace: "default", Name: name, Blocking: isBlocking, Reasons: reasons,
	}
}

// counted returns a status item that counts custom resources without naming them.
func counted(namespace string, isBlocking bool, n int32) v1alpha1.ProbeResourceStatus {
	return v1alpha1.ProbeResourceStatus{Resource: "foos.example.com", Kind: "Foo", Namespace: namespace, Blocking: isBlocking, Count: n}
}

// foreign moves a custom resource to another namespace.
func foreign(item observed.Item) observed.Item {
	item.Namespace = "secret-namespace"
	return item
}

// held returns an earlier status in which foo-example blocks the update.
func held() v1alpha1.ProbeStatus {
	return Compute(Inputs{
		Probe:     &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Generation: generation}},
		Resources: []Resource{read(observed.Counts{Total: 7, Blocking: 1, Unknown: 2}, blocking("foo-example"))},
		Now:       metav1.Unix(1000, 0),
	})

}

func TestCompute(t *testing.T) {
	statuses := golden.Open(t)
	cases := map[string]struct {
		reason     string
		before     v1alpha1.ProbeStatus
		in         Inputs
		conditions []string // "Type=Status/Reason: message"
		listed     []v1alpha1.ProbeResourceStatus
		summary    *v1alpha1.ProbeSummary
	}{
		"NoResources": {
			reason: "An update is not held if no custom resource exists.",
			in:     Inputs{Resources: []Resource{read(observed.Counts{})}},
			conditions: []string{
				"Upgradeable=True/NoResources: No custom resource exists, so nothing holds the update",
				"Important=False/NothingImportant: No important condition is True",
				"Synced=True/Synced: All resources of the Probe are being read",
			},
			summary: &v1alpha1.ProbeSummary{},
		},
		"OneBlocks": {
			reason: "A single custom resource holds the update, and the message contains its name and its condition.",
			in:     Inputs{Resources: []Resource{read(observed.Counts{Total: 3, Blocking: 1, Unknown: 1}, blocking("foo-example"))}},
			conditions: []string{
				"Upgradeable=False/NotUpgradeable: Waiting for Foo default/foo-example: Migrating is True",
				"Important=False/NothingImportant: No important condition is True",
				"Synced=True/Synced: All resources of the Probe are being read",
			},
			listed:  []v1alpha1.ProbeResourceStatus{listed("foo-example", true, "!Migrating")},
			summary: &v1alpha1.ProbeSummary{Total: 3, NotUpgradeable: 1, Unknown: 1},
		},
		"SomeUnknown": {
			reason: "Custom resources whose state is unknown do not hold the update, and the message counts them.",
			in:     Inputs{Resources: []Resource{read(observed.Counts{Total: 3, Unknown: 2})}},
			conditions: []string{
				"Upgradeable=True/SomeUnknown: Nothing holds the update; 2 of 3 custom resources cannot be judged, since their conditions are missing or Unknown",
				"Important=False/NothingImportant: No important condition is True",
				"Synced=True/Synced: All resources of the Probe are being read",
			},
			summary: &v1alpha1.ProbeSummary{Total: 3, Unknown: 2},
		},
		"ManyBlock": {
			reason: "Messages list the first custom resources and count the others, and blockers precede important ones.",
			in: Inputs{Resources: []Resource{
				read(observed.Counts{Total: 9, Blocking: 1, Important: 1}, blocking("zzz"), importantItem("aaa")),
				read(observed.Counts{Total: 9, Blocking: 7}, blocking("b1"), blocking("b2"), blocking("b3"), blocking("b4"), blocking("b5"), blocking("b6"), blocking("b7")),
			}},
			conditions: []string{
				"Upgradeable=False/NotUpgradeable: Waiting for Foo default/b1: Migrating is True; Foo default/b2: Migrating is True; " +
					"Foo default/b3: Migrating is True; Foo default/b4: Migrating is True; Foo default/b5: Migrating is True; and 3 more",
				"Important=True/ConditionsTrue: Foo default/aaa: BadConnectivity is True",
				"Synced=True/Synced: All resources of the Probe are being read",
			},
			listed: []v1alpha1.ProbeResourceStatus{
				listed("b1", true, "!Migrating"), listed("b2", true, "!Migrating"), listed("b3", true, "!Migrating"),
				listed("b4", true, "!Migrating"), listed("b5", true, "!Migrating"), listed("b6", true, "!Migrating"),
				listed("b7", true, "!Migrating"), listed("zzz", true, "!Migrating"), listed("aaa", false, "BadConnectivity"),
			},
			summary: &v1alpha1.ProbeSummary{Total: 18, NotUpgradeable: 8, Important: 1},
		},
		"NotReadYet": {
			reason: "The conditions are Unknown and counts are missing before the first read.",
			in:     Inputs{Resources: []Resource{{CRD: "foos.example.com", Kind: "Foo", Read: []Read{{}}}}},
			conditions: []string{
				"Upgradeable=Unknown/NotRead: The custom resources have not been read yet",
				"Important=Unknown/NotRead: The custom resources have not been read yet",
				"Synced=Unknown/Syncing: Reading the custom resources for the first time",
			},
		},
		"ForbiddenKeepsTheLastWord": {
			reason: "If reading is forbidden, the previous result and counts are kept, without names.",
			before: held(),
			in:     Inputs{Resources: []Resource{unreadable(v1alpha1.ReasonForbidden)}},
			conditions: []string{
				"Upgradeable=False/NotUpgradeable: Waiting for a custom resource whose name is not shown",
				"Important=False/NothingImportant: No important condition is True",
				"Synced=False/Forbidden: Forbidden it is",
			},
			listed:  []v1alpha1.ProbeResourceStatus{counted("", true, 1)},
			summary: &v1alpha1.ProbeSummary{Total: 7, NotUpgradeable: 1, Unknown: 2},
		},
		"UnreadableKeepsTheLastWord": {
			reason: "If reading fails for another reason, the previous result and counts are kept.",
			before: held(),
			in:     Inputs{Resources: []Resource{unreadable(v1alpha1.ReasonReadFailed)}},
			conditions: []string{
				"Upgradeable=False/NotUpgradeable: Waiting for Foo default/foo-example: Migrating is True",
				"Important=False/NothingImportant: No important condition is True",
				"Synced=False/ReadFailed: ReadFailed it is",
			},
			listed:  []v1alpha1.ProbeResourceStatus{listed("foo-example", true, "!Migrating")},
			summary: &v1alpha1.ProbeSummary{Total: 7, NotUpgradeable: 1, Unknown: 2},
		},
		"ForbiddenWhatIsInMemory": {
			reason: "If a watch may not be opened again, the names in memory are not reported.",
			in: Inputs{Resources: []Resource{{CRD: "foos.example.com", Kind: "Foo",
				Problems: []condition.Problem{{Reason: v1alpha1.ReasonForbidden, Message: "It may not"}},
				Read: []Read{{Namespace: "other", Snapshot: observed.Snapshot{Filled: true, Err: errForbidden, Counts: observed.Counts{Total: 9, Blocking: 2, Important: 1},
					Items: []observed.Item{blocking("a"), blocking("b"), importantItem("c")}}}}}}},
			conditions: []string{
				"Upgradeable=False/NotUpgradeable: Waiting for 2 custom resources whose names are not shown",
				"Important=True/ConditionsTrue: a custom resource whose name is not shown",
				"Synced=False/Forbidden: It may not",
			},
			listed:  []v1alpha1.ProbeResourceStatus{counted("other", true, 2), counted("other", false, 1)},
			summary: &v1alpha1.ProbeSummary{Total: 9, NotUpgradeable: 2, Important: 1},
		},
		"ForbiddenBesideAnother": {
			reason: "Previous counts of a resource that cannot be read are kept beside those of another resource.",
			before: Compute(Inputs{
				Now:       metav1.Unix(1000, 0),
				Probe:     &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Generation: generation}, Status: held()},
				Resources: []Resource{unreadable(v1alpha1.ReasonForbidden)},
			}),

			in: Inputs{Resources: []Resource{
				{CRD: "foos.example.com", Kind: "Foo", Problems: []condition.Problem{{Reason: v1alpha1.ReasonForbidden, Message: "It may not"}},
					Read: []Read{
						{Namespace: "default", Snapshot: observed.Snapshot{Err: errForbidden}},
						{Namespace: "other", Snapshot: observed.Snapshot{Err: errForbidden}},
					}},
				{CRD: "bars.example.com", Kind: "Bar", Read: []Read{{Snapshot: observed.Snapshot{Filled: true, Counts: observed.Counts{Total: 2}}}}},
			}},
			conditions: []string{
				"Upgradeable=False/NotUpgradeable: Waiting for a custom resource whose name is not shown",
				"Important=False/NothingImportant: No important condition is True",
				"Synced=False/Forbidden: It may not",
			},
			listed:  []v1alpha1.ProbeResourceStatus{counted("", true, 1)},
			summary: &v1alpha1.ProbeSummary{Total: 3, NotUpgradeable: 1},
		},
		"Foreign": {
			reason: "With --hide-foreign-names only the custom resources of the Probe's namespace are listed, and others are counted.",
			in: Inputs{HideForeign: true, Resources: []Resource{read(observed.Counts{Total: 99, Blocking: 60, Important: 7},
				blocking("foo-example"), importantItem("mine"), foreign(blocking("secret")), foreign(importantItem("secret")))}},
			conditions: []string{
				"Upgradeable=False/NotUpgradeable: Waiting for Foo default/foo-example: Migrating is True; and 59 more, not shown",
				"Important=True/ConditionsTrue: Foo default/mine: BadConnectivity is True; and 6 more, not shown",
				"Synced=True/Synced: All resources of the Probe are being read",
			},
			listed:  []v1alpha1.ProbeResourceStatus{listed("foo-example", true, "!Migrating"), counted("", true, 59), listed("mine", false, "BadConnectivity")},
			summary: &v1alpha1.ProbeSummary{Total: 99, NotUpgradeable: 60, Important: 7},
		},
		"ForeignAlone": {
			reason: "With --hide-foreign-names a cluster-scoped custom resource is not listed.",
			in: Inputs{HideForeign: true, Resources: []Resource{read(observed.Counts{Total: 1, Blocking: 1},
				observed.Item{Name: "secret", Explanation: observed.Explanation{Blocks: "Migrating is True", Reasons: []string{"!Migrating"}}})}},
			conditions: []string{
				"Upgradeable=False/NotUpgradeable: Waiting for a custom resource whose name is not shown",
				"Important=False/NothingImportant: No important condition is True",
				"Synced=True/Synced: All resources of the Probe are being read",
			},
			listed:  []v1alpha1.ProbeResourceStatus{counted("", true, 1)},
			summary: &v1alpha1.ProbeSummary{Total: 1, NotUpgradeable: 1},
		},
		"ForeignNone": {
			reason: "--hide-foreign-names does not change a message that lists only custom resources of the Probe's namespace.",
			in:     Inputs{HideForeign: true, Resources: []Resource{read(observed.Counts{Total: 3, Blocking: 2}, blocking("a"), blocking("b"))}},
			conditions: []string{
				"Upgradeable=False/NotUpgradeable: Waiting for Foo default/a: Migrating is True; Foo default/b: Migrating is True",
				"Important=False/NothingImportant: No important condition is True",
				"Synced=True/Synced: All resources of the Probe are being read",
			},
			listed:  []v1alpha1.ProbeResourceStatus{listed("a", true, "!Migrating"), listed("b", true, "!Migrating")},
			summary: &v1alpha1.ProbeSummary{Total: 3, NotUpgradeable: 2},
		},
		"ForeignInTheLastWord": {
			reason: "Names that a manager without --hide-foreign-names listed are removed, even if nothing can be read.",
			before: Compute(Inputs{
				Now:   metav1.Unix(1000, 0),
				Probe: &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Generation: generation}},
				Resources: []Resource{read(observed.Counts{Total: 4, Blocking: 3},
					blocking("foo-example"), foreign(blocking("secret")), foreign(blocking("another")))},
			}),

			in: Inputs{HideForeign: true, Resources: []Resource{unreadable(v1alpha1.ReasonReadFailed)}},
			conditions: []string{
				"Upgradeable=False/NotUpgradeable: Waiting for Foo default/foo-example: !Migrating; and 2 more, not shown",
				"Important=False/NothingImportant: No important condition is True",
				"Synced=False/ReadFailed: ReadFailed it is",
			},
			listed:  []v1alpha1.ProbeResourceStatus{listed("foo-example", true, "!Migrating"), counted("", true, 2)},
			summary: &v1alpha1.ProbeSummary{Total: 4, NotUpgradeable: 3},
		},
		"AbsentDoesNotBlock": {
			reason: "A CRD that was deleted has no custom resources, so the previous result ends.",
			before: held(),
			in: Inputs{Resources: []Resource{{CRD: "foos.example.com", Absent: true,
				Problems: []condition.Problem{{Reason: v1alpha1.ReasonResourceNotFound, Message: "It is gone"}}}}},
			conditions: []string{
				"Upgradeable=True/NoResources: No custom resource exists, so nothing holds the update",
				"Important=False/NothingImportant: No important condition is True",
				"Synced=False/ResourceNotFound: It is gone",
			},
			summary: &v1alpha1.ProbeSummary{},
		},
		"OneOfTwoUnreadable": {
			reason: "A resource that can be read is evaluated beside the previous result of one that cannot.",
			before: held(),
			in: Inputs{Resources: []Resource{
				unreadable(v1alpha1.ReasonNoIdentity),
				{CRD: "bars.example.com", Kind: "Bar", Read: []Read{{Snapshot: observed.Snapshot{Filled: true, Counts: observed.Counts{Total: 2}}}}},
			}},
			conditions: []string{
				"Upgradeable=False/NotUpgradeable: Waiting for Foo default/foo-example: !Migrating",
				"Important=False/NothingImportant: No important condition is True",
				"Synced=False/NoIdentity: NoIdentity it is",
			},
			listed:  []v1alpha1.ProbeResourceStatus{listed("foo-example", true, "!Migrating")},
			summary: &v1alpha1.ProbeSummary{Total: 3, NotUpgradeable: 1},
		},
		"OneOfTwoNamespacesUnreadable": {
			reason: "The namespaces that can be read are evaluated beside the previous result of the others.",
			before: held(),
			in: Inputs{Resources: []Resource{{CRD: "foos.example.com", Kind: "Foo",
				Problems: []condition.Problem{{Reason: v1alpha1.ReasonForbidden, Message: "Not in default"}},
				Read: []Read{
					{Namespace: "default"},
					{Namespace: "other", Snapshot: observed.Snapshot{Filled: true, Counts: observed.Counts{Total: 5, Blocking: 1},
						Items: []observed.Item{{Namespace: "other", Name: "foo", Explanation: observed.Explanation{Blocks: "Migrating is True", Reasons: []string{"!Migrating"}}}}}},
				}}}},
			conditions: []string{
				"Upgradeable=False/NotUpgradeable: Waiting for Foo default/foo-example: !Migrating; Foo other/foo: Migrating is True",
				"Important=False/NothingImportant: No important condition is True",
				"Synced=False/Forbidden: Not in default",
			},
			listed: []v1alpha1.ProbeResourceStatus{
				listed("foo-example", true, "!Migrating"),
				{Resource: "foos.example.com", Kind: "Foo", Namespace: "other", Name: "foo", Blocking: true, Reasons: []string{"!Migrating"}},
			},
			summary: &v1alpha1.ProbeSummary{Total: 6, NotUpgradeable: 2},
		},
		"StaleButKnown": {
			reason: "The last result is used if reading failed after the initial list.",
			in: Inputs{Resources: []Resource{{CRD: "foos.example.com", Kind: "Foo",
				Problems: []condition.Problem{{Reason: v1alpha1.ReasonReadFailed, Message: "The API server says no"}},
				Read:     []Read{{Snapshot: observed.Snapshot{Filled: true, Err: errors.New("no"), Counts: observed.Counts{Total: 4}}}}}}},
			conditions: []string{
				"Upgradeable=True/AllUpgradeable: None of 4 custom resources holds the update",
				"Important=False/NothingImportant: No important condition is True",
				"Synced=False/ReadFailed: The API server says no",
			},
			summary: &v1alpha1.ProbeSummary{Total: 4},
		},
		"Stale": {
			reason: "A result that may be outdated is Unknown, and important custom resources are listed.",
			in: Inputs{Resources: []Resource{{CRD: "foos.example.com", Kind: "Foo",
				Problems: []condition.Problem{{Reason: v1alpha1.ReasonStale, Message: "The API server sends nothing"}},
				Read: []Read{{Snapshot: observed.Snapshot{Filled: true, Stale: true, Counts: observed.Counts{Total: 4, Important: 1},
					Items: []observed.Item{importantItem("foo")}}}}}}},
			conditions: []string{
				"Upgradeable=Unknown/Stale: The custom resources may have changed since they were read",
				"Important=True/ConditionsTrue: Foo default/foo: BadConnectivity is True",
				"Synced=Unknown/Stale: The API server sends nothing",
			},
			listed:  []v1alpha1.ProbeResourceStatus{listed("foo", false, "BadConnectivity")},
			summary: &v1alpha1.ProbeSummary{Total: 4, Important: 1},
		},
		"StaleAndBlocking": {
			reason: "A custom resource that blocked the update blocks it although its result may be outdated.",
			in: Inputs{Resources: []Resource{{CRD: "foos.example.com", Kind: "Foo",
				Problems: []condition.Problem{{Reason: v1alpha1.ReasonStale, Message: "The API server sends nothing"}},
				Read: []Read{{Snapshot: observed.Snapshot{Filled: true, Stale: true, Counts: observed.Counts{Total: 4, Blocking: 1},
					Items: []observed.Item{blocking("foo")}}}}}}},
			conditions: []string{
				"Upgradeable=False/NotUpgradeable: Waiting for Foo default/foo: Migrating is True",
				"Important=False/NothingImportant: No important condition is True",
				"Synced=Unknown/Stale: The API server sends nothing",
			},
			listed:  []v1alpha1.ProbeResourceStatus{listed("foo", true, "!Migrating")},
			summary: &v1alpha1.ProbeSummary{Total: 4, NotUpgradeable: 1},
		},
		"AllowedAndNoLongerRead": {
			reason: "A result that allows the update is not kept if the custom resources can no longer be read.",
			before: Compute(Inputs{
				Now: metav1.Unix(1000, 0), Probe: &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Generation: generation}},
				Resources: []Resource{read(observed.Counts{Total: 7})},
			}),
			in: Inputs{Resources: []Resource{unreadable(v1alpha1.ReasonForbidden)}},
			conditions: []string{
				"Upgradeable=Unknown/NotRead: Not all custom resources have been read; Synced reports why",
				"Important=False/NothingImportant: No important condition is True",
				"Synced=False/Forbidden: Forbidden it is",
			},
			summary: &v1alpha1.ProbeSummary{Total: 7},
		},
		"OperatorNotFound": {
			reason: "Upgradeable is Unknown if the operator does not exist.",
			in:     Inputs{OperatorNotFound: "foo-operator.v1.0.0 does not exist", Resources: []Resource{read(observed.Counts{Total: 2})}},
			conditions: []string{
				"Upgradeable=Unknown/OperatorNotFound: foo-operator.v1.0.0 does not exist",
				"Important=False/NothingImportant: No important condition is True",
				"Synced=False/OperatorNotFound: foo-operator.v1.0.0 does not exist",
			},
			summary: &v1alpha1.ProbeSummary{Total: 2},
		},
		"OperatorNotFoundAndBlocking": {
			reason: "A custom resource blocks the update even if the operator does not exist.",
			in: Inputs{OperatorNotFound: "foo-operator.v1.0.0 does not exist",
				Resources: []Resource{read(observed.Counts{Total: 2, Blocking: 1}, blocking("foo"))}},
			conditions: []string{
				"Upgradeable=False/NotUpgradeable: Waiting for Foo default/foo: Migrating is True",
				"Important=False/NothingImportant: No important condition is True",
				"Synced=False/OperatorNotFound: foo-operator.v1.0.0 does not exist",
			},
			listed:  []v1alpha1.ProbeResourceStatus{listed("foo", true, "!Migrating")},
			summary: &v1alpha1.ProbeSummary{Total: 2, NotUpgradeable: 1},
		},
		"UnreadableConditions": {
			reason: "Conditions that cannot be parsed are listed after blockers and important custom resources.",
			in: Inputs{Resources: []Resource{read(observed.Counts{Total: 5, Important: 1, Unknown: 3, Unreadable: 2}, importantItem("z"),
				malformed("a", "status.conditions"), malformed("b", "Degraded, Ready"))}},
			conditions: []string{
				"Upgradeable=True/SomeUnknown: Nothing holds the update; 3 of 5 custom resources cannot be judged, since their conditions are missing or Unknown, " +
					"or cannot be read: Foo default/a: status.conditions; Foo default/b: Degraded, Ready",
				"Important=True/ConditionsTrue: Foo default/z: BadConnectivity is True",
				"Synced=True/Synced: All resources of the Probe are being read",
			},
			listed: []v1alpha1.ProbeResourceStatus{
				listed("z", false, "BadConnectivity"), listedUnreadable("a", "status.conditions"), listedUnreadable("b", "Degraded", "Ready"),
			},
			summary: &v1alpha1.ProbeSummary{Total: 5, Important: 1, Unknown: 3, Unreadable: 2},
		},
		"UnreadableConditionsKept": {
			reason: "Conditions that could not be parsed stay in the result if the custom resources can no longer be read.",
			before: Compute(Inputs{
				Now: metav1.Unix(1000, 0), Probe: &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Generation: generation}},
				Resources: []Resource{read(observed.Counts{Total: 5, Unknown: 2, Unreadable: 1}, malformed("a", "Degraded"))},
			}),
			in: Inputs{Resources: []Resource{
				unreadable(v1alpha1.ReasonReadFailed),
				{CRD: "bars.example.com", Kind: "Bar", Read: []Read{{Snapshot: observed.Snapshot{Filled: true, Counts: observed.Counts{Total: 2}}}}},
			}},
			conditions: []string{
				"Upgradeable=Unknown/NotRead: Not all custom resources have been read; Synced reports why",
				"Important=False/NothingImportant: No important condition is True",
				"Synced=False/ReadFailed: ReadFailed it is",
			},
			listed:  []v1alpha1.ProbeResourceStatus{listedUnreadable("a", "Degraded")},
			summary: &v1alpha1.ProbeSummary{Total: 3, Unknown: 1, Unreadable: 1},
		},
		"WorstProblemFirst": {
			reason: "Synced has the reason of the worst problem and the messages of all.",
			in: Inputs{
				Resources: []Resource{{CRD: "a", Absent: true, Problems: []condition.Problem{{Reason: v1alpha1.ReasonResourceNotFound, Message: "There is no a"}}},
					unreadable(v1alpha1.ReasonForbidden)},
				Problems: []condition.Problem{{Reason: v1alpha1.ReasonInvalidExpression, Message: "Position 1 is wrong"}},
			},
			conditions: []string{
				"Upgradeable=Unknown/NotRead: Not all custom resources have been read; Synced reports why",
				"Important=Unknown/NotRead: The custom resources have not been read yet",
				"Synced=False/Forbidden: Forbidden it is; Position 1 is wrong; There is no a",
			},
			summary: &v1alpha1.ProbeSummary{},
		},
		"GateConflict": {
			reason: "GateConflict is True while the operator itself sets the condition in its OperatorCondition.",
			in:     Inputs{Resources: []Resource{read(observed.Counts{})}, GateConflict: "The operator sets it"},
			conditions: []string{
				"Upgradeable=True/NoResources: No custom resource exists, so nothing holds the update",
				"Important=False/NothingImportant: No important condition is True",
				"Synced=True/Synced: All resources of the Probe are being read",
				"GateConflict=True/SetByOperator: The operator sets it",
			},
			summary: &v1alpha1.ProbeSummary{},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.in.Probe = &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Generation: generation}, Status: tc.before}
			tc.in.Now = metav1.Unix(2000, 0)
			got := Compute(tc.in)
			statuses.Check(t, name, got)
			var conditions []string
			for _, c := range got.Conditions {
				conditions = append(conditions, fmt.Sprintf("%s=%s/%s: %s", c.Type, c.Status, c.Reason, c.Message))
			}
			if diff := cmp.Diff(tc.conditions, conditions); diff != "" {
				t.Errorf("%s\nconditions: -want +got\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.listed, got.ProbeResources); diff != "" {
				t.Errorf("%s\nprobeResources: -want +got\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.summary, got.Summary); diff != "" {
				t.Errorf("%s\nsummary: -want +got\n%s", tc.reason, diff)
			}
			if text := fmt.Sprintf("%+v", got); strings.Contains(text, "secret") {
				t.Errorf("%s\nthe name is in the status: %s", tc.reason, text)
			}
			checkStable(t, tc.in, got)
		})
	}
}

// checkStable verifies that the same inputs give the same status an hour later.
func checkStable(t *testing.T, in Inputs, status v1alpha1.ProbeStatus) {
	t.Helper()
	in.Probe = in.Probe.DeepCopy()
	in.Probe.Status = status
	in.Now = metav1.NewTime(in.Now.Add(time.Minute))
	if diff := cmp.Diff(status, Compute(in)); diff != "" {
		t.Errorf("the second result differs, so it would be written again: -first +second\n%s", diff)
	}
}

func TestStatusCap(t *testing.T) {
	var items []observed.Item
	for i := range v1alpha1.MaxStatusProbeResources {
		items = append(items, blocking(fmt.Sprintf("foo-%02d", i)))
	}
	snapshot := Read{Snapshot: observed.Snapshot{Filled: true, Counts: observed.Counts{Total: 100, Blocking: 100}, Items: items, Omitted: 50}}
	got := Compute(Inputs{
		Probe: &v1alpha1.Probe{},
		Resources: []Resource{
			{CRD: "a", Kind: "A", Read: []Read{snapshot, snapshot}},
			{CRD: "b", Kind: "B", Read: []Read{snapshot}},
		},
	})

	if n := len(got.ProbeResources); n != v1alpha1.MaxStatusProbeResources {
		t.Errorf("%d custom resources are listed", n)
	}
	if diff := cmp.Diff(&v1alpha1.ProbeSummary{Total: 300, NotUpgradeable: 300, Omitted: 250}, got.Summary); diff != "" {
		t.Errorf("counts, including custom resources that are not listed: -want +got\n%s", diff)
	}
	if m := meta.FindStatusCondition(got.Conditions, v1alpha1.ConditionUpgradeable).Message; !strings.HasSuffix(m, "; and 295 more") {
		t.Errorf("the message does not count the other custom resources: %s", m)
	}
}

func TestLastTransitionTime(t *testing.T) {
	before := held()
	probe := &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Generation: generation}, Status: before}
	after := Compute(Inputs{Probe: probe, Now: metav1.Unix(2000, 0), Resources: []Resource{
		read(observed.Counts{Total: 8, Blocking: 2}, blocking("foo-example"), blocking("second")),
	}})

	c := meta.FindStatusCondition(after.Conditions, v1alpha1.ConditionUpgradeable)
	if c.LastTransitionTime != metav1.Unix(1000, 0) {
		t.Errorf("lastTransitionTime changed to %v with the message, although the status did not change", c.LastTransitionTime)
	}
}

// TestReadBy verifies that the status records its reader and target namespaces only once all is read. A gate relies on
// it.
func TestReadBy(t *testing.T) {
	read := func(filled bool) []Resource {
		return []Resource{{CRD: "foos.example.com", Kind: "Foo", Read: []Read{{Snapshot: observed.Snapshot{Filled: filled}}}}}
	}
	for name, tc := range map[string]struct {
		reason    string
		resources []Resource
		want      string
	}{
		"Read":     {"The reader and the targets are recorded once all resources are read.", read(true), "manager-1 targets-1"},
		"Nothing":  {"The reader and the targets are recorded if the Probe has no resources.", nil, "manager-1 targets-1"},
		"Absent":   {"The reader and the targets are recorded if the resource is not served.", []Resource{{CRD: "foos.example.com", Absent: true}}, "manager-1 targets-1"},
		"Unread":   {"The reader and the targets are not recorded before the first read.", read(false), "manager-0 targets-0"},
		"PartRead": {"The reader and the targets are not recorded if only some resources are read.", append(read(true), read(false)...), "manager-0 targets-0"},
		"NoReader": {"The reader and the targets are not recorded if a resource cannot be read.", []Resource{{CRD: "foos.example.com"}}, "manager-0 targets-0"},
	} {
		t.Run(name, func(t *testing.T) {
			probe := &v1alpha1.Probe{Status: v1alpha1.ProbeStatus{Reader: "manager-0", ObservedTargets: "targets-0"}}
			out := Compute(Inputs{Probe: probe, Resources: tc.resources, Reader: "manager-1", Targets: "targets-1", Now: metav1.Unix(2000, 0)})
			if got := out.Reader + " " + out.ObservedTargets; got != tc.want {
				t.Errorf("%s\ngot %s; want %s", tc.reason, got, tc.want)
			}
		})
	}
}

// TestComputeParts verifies that the reader and the manager of a Probe with isolation Pod each compute their own part of
// the status, and leave the other's as it is.
func TestComputeParts(t *testing.T) {
	in := Inputs{
		Probe:        &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Generation: generation}},
		Resources:    []Resource{read(observed.Counts{Total: 1, Blocking: 1}, blocking("a"))},
		Pod:          &Pod{Account: "default/foo", Problem: &condition.Problem{Reason: v1alpha1.ReasonPodNotReady, Message: "It starts"}},
		GateConflict: "The operator sets it itself",
		Held:         []Held{{Gate: v1alpha1.ReasonApprovalGate, Subscription: "foo", Target: "foo.v2", Since: metav1.Unix(500, 0)}},
		Reader:       "pod", Targets: "all",
		Now: metav1.Unix(1000, 0),
	}
	byReader := ComputeRead(in)
	if got := typesOf(byReader); !slices.Equal(got, []string{"Important", "Synced", "Upgradeable"}) || byReader.Reader != "pod" ||
		len(byReader.ProbeResources) != 1 {
		t.Errorf("conditions computed by the reader\ngot %v of %+v", got, byReader)
	}
	managed := in
	managed.Probe = &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Generation: generation + 1}, Status: byReader}
	managed.Resources, managed.Reader = []Resource{unreadable(v1alpha1.ReasonNoIdentity)}, "manager"
	byManager := ComputeManaged(managed)
	if got := typesOf(byManager); !slices.Equal(got, []string{"GateConflict", "Holding", "Important", "PodReady", "Synced", "Upgradeable"}) {
		t.Errorf("conditions computed by the manager\ngot %v", got)
	}
	theirs := byManager.DeepCopy()
	for _, own := range []string{v1alpha1.ConditionGateConflict, v1alpha1.ConditionHolding, v1alpha1.ConditionPodReady} {
		meta.RemoveStatusCondition(&theirs.Conditions, own)
	}
	if diff := cmp.Diff(byReader, *theirs); diff != "" {
		t.Errorf("part of the reader after the manager's computation, including the observed generation\n-want +got\n%s", diff)
	}
	in.Probe = &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Generation: generation}, Status: byManager}
	if diff := cmp.Diff(byManager, ComputeRead(in)); diff != "" {
		t.Errorf("part of the manager after the reader's computation\n-want +got\n%s", diff)
	}
	in.Pod.Problem = nil
	const ready = "A pod reads the custom resources as service account default/foo"
	if got := meta.FindStatusCondition(Compute(in).Conditions, v1alpha1.ConditionPodReady); got.Message != ready {
		t.Errorf("a ready pod is not reported with its account\ngot %+v", got)
	}
	in.Pod = nil
	if got := Compute(in); meta.FindStatusCondition(got.Conditions, v1alpha1.ConditionPodReady) != nil {
		t.Error("PodReady is set without a pod")
	}
}

func typesOf(status v1alpha1.ProbeStatus) []string {
	var out []string
	for _, c := range status.Conditions {
		out = append(out, c.Type)
	}
	slices.Sort(out)
	return out
}
