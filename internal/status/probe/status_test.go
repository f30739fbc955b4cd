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
	"github.com/operator-status/operator-status/internal/status/condition"
	"github.com/operator-status/operator-status/internal/test/golden"
	"github.com/operator-status/operator-status/internal/watch"
)

const generation = 3

// read returns a resource that has been read completely.
func read(counts watch.Counts, items ...watch.Item) Resource {
	return Resource{CRD: "foos.example.com", Kind: "Foo", Read: []Read{{Snapshot: watch.Snapshot{Filled: true, Counts: counts, Items: items}}}}
}

func blocking(name string) watch.Item {
	return watch.Item{Namespace: "default", Name: name, Explanation: watch.Explanation{Blocks: "Migrating is True", Reasons: []string{"!Migrating"}}}
}

func telling(name string) watch.Item {
	return watch.Item{Namespace: "default", Name: name, Explanation: watch.Explanation{Important: "BadConnectivity is True", Reasons: []string{"BadConnectivity"}}}
}

// malformed returns a custom resource with conditions that cannot be read.
func malformed(name, conditions string) watch.Item {
	return watch.Item{Namespace: "default", Name: name, Explanation: watch.Explanation{Unreadable: conditions, Reasons: strings.Split(conditions, ", ")}}
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
func foreign(item watch.Item) watch.Item {
	item.Namespace = "secret-namespace"
	return item
}

// held returns an earlier status in which foo-example blocks the update.
func held() v1alpha1.ProbeStatus {
	return Compute(Inputs{
		Probe:     &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Generation: generation}},
		Resources: []Resource{read(watch.Counts{Total: 7, Blocking: 1, Unknown: 2}, blocking("foo-example"))},
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
			reason: "Without custom resources nothing holds the update.",
			in:     Inputs{Resources: []Resource{read(watch.Counts{})}},
			conditions: []string{
				"Upgradeable=True/NoResources: No custom resource exists, so nothing holds the update",
				"Important=False/NothingImportant: No important condition is True",
				"Synced=True/Synced: All resources of the Probe are being read",
			},
			summary: &v1alpha1.ProbeSummary{},
		},
		"OneBlocks": {
			reason: "A single custom resource holds the update: the message has its name and its condition.",
			in:     Inputs{Resources: []Resource{read(watch.Counts{Total: 3, Blocking: 1, Unknown: 1}, blocking("foo-example"))}},
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
			in:     Inputs{Resources: []Resource{read(watch.Counts{Total: 3, Unknown: 2})}},
			conditions: []string{
				"Upgradeable=True/SomeUnknown: Nothing holds the update; 2 of 3 custom resources cannot be judged, since their conditions are missing or Unknown",
				"Important=False/NothingImportant: No important condition is True",
				"Synced=True/Synced: All resources of the Probe are being read",
			},
			summary: &v1alpha1.ProbeSummary{Total: 3, Unknown: 2},
		},
		"ManyBlock": {
			reason: "Messages name the first few and count the rest; blockers are listed before what is merely important.",
			in: Inputs{Resources: []Resource{
				read(watch.Counts{Total: 9, Blocking: 1, Important: 1}, blocking("zzz"), telling("aaa")),
				read(watch.Counts{Total: 9, Blocking: 7}, blocking("b1"), blocking("b2"), blocking("b3"), blocking("b4"), blocking("b5"), blocking("b6"), blocking("b7")),
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
			reason: "Before the first read nothing is claimed, not even a count.",
			in:     Inputs{Resources: []Resource{{CRD: "foos.example.com", Kind: "Foo", Read: []Read{{}}}}},
			conditions: []string{
				"Upgradeable=Unknown/NotRead: The custom resources have not been read yet",
				"Important=Unknown/NotRead: The custom resources have not been read yet",
				"Synced=Unknown/Syncing: Reading the custom resources for the first time",
			},
		},
		"ForbiddenKeepsTheLastWord": {
			reason: "What may not be read any more is held as before and counted as before, but not named.",
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
			reason: "Where the truth cannot be read for another reason the last word is kept, word for word and count for count.",
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
			reason: "A watch that the account may not open again leaves its names in memory, where they stay.",
			in: Inputs{Resources: []Resource{{CRD: "foos.example.com", Kind: "Foo",
				Problems: []condition.Problem{{Reason: v1alpha1.ReasonForbidden, Message: "It may not"}},
				Read: []Read{{Namespace: "other", Snapshot: watch.Snapshot{Filled: true, Err: errForbidden, Counts: watch.Counts{Total: 9, Blocking: 2, Important: 1},
					Items: []watch.Item{blocking("a"), blocking("b"), telling("c")}}}}}}},
			conditions: []string{
				"Upgradeable=False/NotUpgradeable: Waiting for 2 custom resources whose names are not shown",
				"Important=True/ConditionsTrue: a custom resource whose name is not shown",
				"Synced=False/Forbidden: It may not",
			},
			listed:  []v1alpha1.ProbeResourceStatus{counted("other", true, 2), counted("other", false, 1)},
			summary: &v1alpha1.ProbeSummary{Total: 9, NotUpgradeable: 2, Important: 1},
		},
		"ForbiddenBesideAnother": {
			reason: "What was counted is held on, also beside what can be read.",
			before: Compute(Inputs{
				Now:       metav1.Unix(1000, 0),
				Probe:     &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Generation: generation}, Status: held()},
				Resources: []Resource{unreadable(v1alpha1.ReasonForbidden)},
			}),

			in: Inputs{Resources: []Resource{
				{CRD: "foos.example.com", Kind: "Foo", Problems: []condition.Problem{{Reason: v1alpha1.ReasonForbidden, Message: "It may not"}},
					Read: []Read{{Namespace: "default", Snapshot: watch.Snapshot{Err: errForbidden}}, {Namespace: "other", Snapshot: watch.Snapshot{Err: errForbidden}}}},
				{CRD: "bars.example.com", Kind: "Bar", Read: []Read{{Snapshot: watch.Snapshot{Filled: true, Counts: watch.Counts{Total: 2}}}}},
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
			reason: "With --hide-foreign-names the custom resources of the Probe's namespace are named, and others counted.",
			in: Inputs{HideForeign: true, Resources: []Resource{read(watch.Counts{Total: 99, Blocking: 60, Important: 7},
				blocking("foo-example"), telling("mine"), foreign(blocking("secret")), foreign(telling("secret")))}},
			conditions: []string{
				"Upgradeable=False/NotUpgradeable: Waiting for Foo default/foo-example: Migrating is True; and 59 more, not shown",
				"Important=True/ConditionsTrue: Foo default/mine: BadConnectivity is True; and 6 more, not shown",
				"Synced=True/Synced: All resources of the Probe are being read",
			},
			listed:  []v1alpha1.ProbeResourceStatus{listed("foo-example", true, "!Migrating"), counted("", true, 59), listed("mine", false, "BadConnectivity")},
			summary: &v1alpha1.ProbeSummary{Total: 99, NotUpgradeable: 60, Important: 7},
		},
		"ForeignAlone": {
			reason: "A cluster-scoped custom resource is outside the Probe's namespace.",
			in: Inputs{HideForeign: true, Resources: []Resource{read(watch.Counts{Total: 1, Blocking: 1},
				watch.Item{Name: "secret", Explanation: watch.Explanation{Blocks: "Migrating is True", Reasons: []string{"!Migrating"}}})}},
			conditions: []string{
				"Upgradeable=False/NotUpgradeable: Waiting for a custom resource whose name is not shown",
				"Important=False/NothingImportant: No important condition is True",
				"Synced=True/Synced: All resources of the Probe are being read",
			},
			listed:  []v1alpha1.ProbeResourceStatus{counted("", true, 1)},
			summary: &v1alpha1.ProbeSummary{Total: 1, NotUpgradeable: 1},
		},
		"ForeignNone": {
			reason: "Where nothing is hidden the flag changes nothing.",
			in:     Inputs{HideForeign: true, Resources: []Resource{read(watch.Counts{Total: 3, Blocking: 2}, blocking("a"), blocking("b"))}},
			conditions: []string{
				"Upgradeable=False/NotUpgradeable: Waiting for Foo default/a: Migrating is True; Foo default/b: Migrating is True",
				"Important=False/NothingImportant: No important condition is True",
				"Synced=True/Synced: All resources of the Probe are being read",
			},
			listed:  []v1alpha1.ProbeResourceStatus{listed("a", true, "!Migrating"), listed("b", true, "!Migrating")},
			summary: &v1alpha1.ProbeSummary{Total: 3, NotUpgradeable: 2},
		},
		"ForeignInTheLastWord": {
			reason: "What a manager without the flag named goes, even where nothing can be read now.",
			before: Compute(Inputs{
				Now:   metav1.Unix(1000, 0),
				Probe: &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Generation: generation}},
				Resources: []Resource{read(watch.Counts{Total: 4, Blocking: 3},
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
			reason: "A CRD that is not there means no custom resources: the last word about them is over.",
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
			reason: "What can be read is judged anew, beside the last word about what cannot.",
			before: held(),
			in: Inputs{Resources: []Resource{
				unreadable(v1alpha1.ReasonNoIdentity),
				{CRD: "bars.example.com", Kind: "Bar", Read: []Read{{Snapshot: watch.Snapshot{Filled: true, Counts: watch.Counts{Total: 2}}}}},
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
			reason: "The namespaces that can be read count, together with the last result for the others.",
			before: held(),
			in: Inputs{Resources: []Resource{{CRD: "foos.example.com", Kind: "Foo",
				Problems: []condition.Problem{{Reason: v1alpha1.ReasonForbidden, Message: "Not in default"}},
				Read: []Read{
					{Namespace: "default"},
					{Namespace: "other", Snapshot: watch.Snapshot{Filled: true, Counts: watch.Counts{Total: 5, Blocking: 1},
						Items: []watch.Item{{Namespace: "other", Name: "foo", Explanation: watch.Explanation{Blocks: "Migrating is True", Reasons: []string{"!Migrating"}}}}}},
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
			reason: "What was read before reading failed is still the best there is.",
			in: Inputs{Resources: []Resource{{CRD: "foos.example.com", Kind: "Foo",
				Problems: []condition.Problem{{Reason: v1alpha1.ReasonReadFailed, Message: "The API server says no"}},
				Read:     []Read{{Snapshot: watch.Snapshot{Filled: true, Err: errors.New("no"), Counts: watch.Counts{Total: 4}}}}}}},
			conditions: []string{
				"Upgradeable=True/AllUpgradeable: None of 4 custom resources holds the update",
				"Important=False/NothingImportant: No important condition is True",
				"Synced=False/ReadFailed: The API server says no",
			},
			summary: &v1alpha1.ProbeSummary{Total: 4},
		},
		"Stale": {
			reason: "What may have changed since it was read allows nothing, and is still shown.",
			in: Inputs{Resources: []Resource{{CRD: "foos.example.com", Kind: "Foo",
				Problems: []condition.Problem{{Reason: v1alpha1.ReasonStale, Message: "The API server sends nothing"}},
				Read: []Read{{Snapshot: watch.Snapshot{Filled: true, Stale: true, Counts: watch.Counts{Total: 4, Important: 1},
					Items: []watch.Item{telling("foo")}}}}}}},
			conditions: []string{
				"Upgradeable=Unknown/Stale: The custom resources may have changed since they were read",
				"Important=True/ConditionsTrue: Foo default/foo: BadConnectivity is True",
				"Synced=Unknown/Stale: The API server sends nothing",
			},
			listed:  []v1alpha1.ProbeResourceStatus{listed("foo", false, "BadConnectivity")},
			summary: &v1alpha1.ProbeSummary{Total: 4, Important: 1},
		},
		"StaleAndBlocking": {
			reason: "A no holds until something else is read.",
			in: Inputs{Resources: []Resource{{CRD: "foos.example.com", Kind: "Foo",
				Problems: []condition.Problem{{Reason: v1alpha1.ReasonStale, Message: "The API server sends nothing"}},
				Read: []Read{{Snapshot: watch.Snapshot{Filled: true, Stale: true, Counts: watch.Counts{Total: 4, Blocking: 1},
					Items: []watch.Item{blocking("foo")}}}}}}},
			conditions: []string{
				"Upgradeable=False/NotUpgradeable: Waiting for Foo default/foo: Migrating is True",
				"Important=False/NothingImportant: No important condition is True",
				"Synced=Unknown/Stale: The API server sends nothing",
			},
			listed:  []v1alpha1.ProbeResourceStatus{listed("foo", true, "!Migrating")},
			summary: &v1alpha1.ProbeSummary{Total: 4, NotUpgradeable: 1},
		},
		"AllowedAndNoLongerRead": {
			reason: "A yes does not outlive the right to read what said it.",
			before: Compute(Inputs{
				Now: metav1.Unix(1000, 0), Probe: &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Generation: generation}},
				Resources: []Resource{read(watch.Counts{Total: 7})},
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
			reason: "The Probe of an operator that was uninstalled, or updated, allows nothing.",
			in:     Inputs{OperatorNotFound: "foo-operator.v1.0.0 does not exist", Resources: []Resource{read(watch.Counts{Total: 2})}},
			conditions: []string{
				"Upgradeable=Unknown/OperatorNotFound: foo-operator.v1.0.0 does not exist",
				"Important=False/NothingImportant: No important condition is True",
				"Synced=False/OperatorNotFound: foo-operator.v1.0.0 does not exist",
			},
			summary: &v1alpha1.ProbeSummary{Total: 2},
		},
		"OperatorNotFoundAndBlocking": {
			reason: "The custom resources of an operator that was uninstalled are still there, and it is reported what they say.",
			in: Inputs{OperatorNotFound: "foo-operator.v1.0.0 does not exist",
				Resources: []Resource{read(watch.Counts{Total: 2, Blocking: 1}, blocking("foo"))}},
			conditions: []string{
				"Upgradeable=False/NotUpgradeable: Waiting for Foo default/foo: Migrating is True",
				"Important=False/NothingImportant: No important condition is True",
				"Synced=False/OperatorNotFound: foo-operator.v1.0.0 does not exist",
			},
			listed:  []v1alpha1.ProbeResourceStatus{listed("foo", true, "!Migrating")},
			summary: &v1alpha1.ProbeSummary{Total: 2, NotUpgradeable: 1},
		},
		"UnreadableConditions": {
			reason: "Conditions in a form that cannot be read are named, after what holds the update and what is important.",
			in: Inputs{Resources: []Resource{read(watch.Counts{Total: 5, Important: 1, Unknown: 3, Unreadable: 2}, telling("z"),
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
			reason: "What could not be judged is carried over as what it was.",
			before: Compute(Inputs{
				Now: metav1.Unix(1000, 0), Probe: &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Generation: generation}},
				Resources: []Resource{read(watch.Counts{Total: 5, Unknown: 2, Unreadable: 1}, malformed("a", "Degraded"))},
			}),
			in: Inputs{Resources: []Resource{
				unreadable(v1alpha1.ReasonReadFailed),
				{CRD: "bars.example.com", Kind: "Bar", Read: []Read{{Snapshot: watch.Snapshot{Filled: true, Counts: watch.Counts{Total: 2}}}}},
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
			reason: "Synced gives the reason of the worst problem and the sentences of all.",
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
			reason: "GateConflict is True for as long as the operator sets the condition in its OperatorCondition itself.",
			in:     Inputs{Resources: []Resource{read(watch.Counts{})}, GateConflict: "The operator sets it"},
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
				t.Errorf("%s\nit is named: %s", tc.reason, text)
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
	in.Now = metav1.NewTime(in.Now.Add(time.Hour))
	if diff := cmp.Diff(status, Compute(in)); diff != "" {
		t.Errorf("computed again it differs, so it would be written again: -first +second\n%s", diff)
	}
}

func TestStatusCap(t *testing.T) {
	var items []watch.Item
	for i := range v1alpha1.MaxStatusProbeResources {
		items = append(items, blocking(fmt.Sprintf("foo-%02d", i)))
	}
	snapshot := Read{Snapshot: watch.Snapshot{Filled: true, Counts: watch.Counts{Total: 100, Blocking: 100}, Items: items, Omitted: 50}}
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
		t.Errorf("what is not listed is counted: -want +got\n%s", diff)
	}
	if m := meta.FindStatusCondition(got.Conditions, v1alpha1.ConditionUpgradeable).Message; !strings.HasSuffix(m, "; and 295 more") {
		t.Errorf("the message counts what it does not name: %s", m)
	}
}

func TestLastTransitionTime(t *testing.T) {
	before := held()
	probe := &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Generation: generation}, Status: before}
	after := Compute(Inputs{Probe: probe, Now: metav1.Unix(2000, 0), Resources: []Resource{
		read(watch.Counts{Total: 8, Blocking: 2}, blocking("foo-example"), blocking("second")),
	}})

	c := meta.FindStatusCondition(after.Conditions, v1alpha1.ConditionUpgradeable)
	if c.LastTransitionTime != metav1.Unix(1000, 0) {
		t.Errorf("lastTransitionTime moved to %v with the message, though the status stayed", c.LastTransitionTime)
	}
}

// TestReadBy verifies that the status records its reader and target namespaces only once all is read. A gate relies on
// it.
func TestReadBy(t *testing.T) {
	read := func(filled bool) []Resource {
		return []Resource{{CRD: "foos.example.com", Kind: "Foo", Read: []Read{{Snapshot: watch.Snapshot{Filled: filled}}}}}
	}
	for name, tc := range map[string]struct {
		reason    string
		resources []Resource
		want      string
	}{
		"Read":     {"What has been read is recorded with its reader.", read(true), "manager-1 targets-1"},
		"Nothing":  {"A Probe that names nothing has nothing to read.", nil, "manager-1 targets-1"},
		"Absent":   {"Nor has one whose kind is not served.", []Resource{{CRD: "foos.example.com", Absent: true}}, "manager-1 targets-1"},
		"Unread":   {"What has not been read is not claimed.", read(false), "manager-0 targets-0"},
		"PartRead": {"Nor is a part.", append(read(true), read(false)...), "manager-0 targets-0"},
		"NoReader": {"Nor is what cannot be read.", []Resource{{CRD: "foos.example.com"}}, "manager-0 targets-0"},
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
		Resources:    []Resource{read(watch.Counts{Total: 1, Blocking: 1}, blocking("a"))},
		Pod:          &Pod{Account: "default/foo", Problem: &condition.Problem{Reason: v1alpha1.ReasonPodNotReady, Message: "It starts"}},
		GateConflict: "The operator sets it itself",
		Held:         []Held{{Gate: v1alpha1.ReasonApprovalGate, Subscription: "foo", Target: "foo.v2", Since: metav1.Unix(500, 0)}},
		Reader:       "pod", Targets: "all",
		Now: metav1.Unix(1000, 0),
	}
	byReader := ComputeRead(in)
	if got := typesOf(byReader); !slices.Equal(got, []string{"Important", "Synced", "Upgradeable"}) || byReader.Reader != "pod" ||
		len(byReader.ProbeResources) != 1 {
		t.Errorf("the reader computes what it read\ngot %v of %+v", got, byReader)
	}
	managed := in
	managed.Probe = &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Generation: generation + 1}, Status: byReader}
	managed.Resources, managed.Reader = []Resource{unreadable(v1alpha1.ReasonNoIdentity)}, "manager"
	byManager := ComputeManaged(managed)
	if got := typesOf(byManager); !slices.Equal(got, []string{"GateConflict", "Holding", "Important", "PodReady", "Synced", "Upgradeable"}) {
		t.Errorf("the manager adds what the reader has no permission to know\ngot %v", got)
	}
	theirs := byManager.DeepCopy()
	for _, own := range []string{v1alpha1.ConditionGateConflict, v1alpha1.ConditionHolding, v1alpha1.ConditionPodReady} {
		meta.RemoveStatusCondition(&theirs.Conditions, own)
	}
	if diff := cmp.Diff(byReader, *theirs); diff != "" {
		t.Errorf("the manager leaves what the reader wrote, the observed generation too\n-want +got\n%s", diff)
	}
	in.Probe = &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Generation: generation}, Status: byManager}
	if diff := cmp.Diff(byManager, ComputeRead(in)); diff != "" {
		t.Errorf("the reader leaves what the manager wrote\n-want +got\n%s", diff)
	}
	in.Pod.Problem = nil
	const ready = "A pod reads the custom resources as service account default/foo"
	if got := meta.FindStatusCondition(Compute(in).Conditions, v1alpha1.ConditionPodReady); got.Message != ready {
		t.Errorf("a pod that is ready is reported with its account\ngot %+v", got)
	}
	in.Pod = nil
	if got := Compute(in); meta.FindStatusCondition(got.Conditions, v1alpha1.ConditionPodReady) != nil {
		t.Error("without a pod there is nothing to report on it")
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
