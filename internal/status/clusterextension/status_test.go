package clusterextension

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer"
	"github.com/operator-status/operator-status/internal/operator"
)

const denial = "error for resolved bundle: ValidatingAdmissionPolicy 'hold-revisions' denied request: The update of release foo to revision 2 is held"

func progressing(status metav1.ConditionStatus, reason, message string, generation int64) []metav1.Condition {
	return []metav1.Condition{{Type: "Progressing", Status: status, Reason: reason, Message: message, ObservedGeneration: generation}}
}

func workload(name string, state operator.State) installer.Workload {
	return installer.Workload{Ref: operator.Ref{Kind: "Deployment", Namespace: "foo", Name: name}, State: state}
}

// outdated returns a workload that may have pods of an older version.
func outdated(name string, state operator.State) installer.Workload {
	out := workload(name, state)
	out.Outdated = true
	return out
}

// hold returns an UpgradeHold with the statuses of Held and Enforced.
func hold(name string, held, enforced metav1.ConditionStatus) holdv1alpha1.UpgradeHold {
	out := holdv1alpha1.UpgradeHold{ObjectMeta: metav1.ObjectMeta{Name: name}}
	out.Status.Conditions = []metav1.Condition{
		{Type: holdv1alpha1.ConditionHeld, Status: held, Reason: "Because", Message: "It is busy"},
		{Type: holdv1alpha1.ConditionEnforced, Status: enforced, Reason: holdv1alpha1.ReasonPolicyNotBound},
	}
	return out
}

func TestCompute(t *testing.T) {
	running := []installer.Workload{workload("foo", operator.Running)}
	succeeded := progressing("True", "Succeeded", "", 2)
	deleted := hold("gone", "True", "True")
	deleted.DeletionTimestamp = new(metav1.Unix(1, 0))
	cases := map[string]struct {
		reason                  string
		in                      Inputs
		running, upToDate, held string
	}{
		"Succeeded": {
			"What is installed runs.", Inputs{Conditions: succeeded, Workloads: running},
			"True/WorkloadsAvailable: ", "True/NewestRuns: ", "False/NotHeld: ",
		},
		"DoesNotRun": {
			"OLM v1 calls it Installed, although nothing runs.",
			Inputs{Conditions: succeeded, Workloads: append(running, workload("c", operator.Failed), workload("b", operator.Installing))},
			"False/WorkloadsUnavailable: No replica is available of Deployment foo/b, Deployment foo/c",
			"False/NewestDoesNotRun: No replica is available of Deployment foo/b, Deployment foo/c", "False/NotHeld: ",
		},
		"OldRuns": {
			"The new version crashes, and the old one stays up.",
			Inputs{Conditions: succeeded, Workloads: append(running, outdated("c", operator.Running), outdated("b", operator.Running))},
			"True/WorkloadsAvailable: ",
			"False/NewestDoesNotRun: The newest version is not rolled out to all pods of Deployment foo/b, Deployment foo/c", "False/NotHeld: ",
		},
		"NoneRuns": {
			"That nothing runs is worse than that a rollout is not over.",
			Inputs{Conditions: succeeded, Workloads: []installer.Workload{outdated("b", operator.Installing), outdated("c", operator.Running)}},
			"False/WorkloadsUnavailable: No replica is available of Deployment foo/b",
			"False/NewestDoesNotRun: No replica is available of Deployment foo/b", "False/NotHeld: ",
		},
		"Unresolved": {
			"Which version is the newest is not known.",
			Inputs{Conditions: progressing("True", "Retrying", "no bundles found", 2), Workloads: []installer.Workload{outdated("b", operator.Running)}},
			"True/WorkloadsAvailable: ", "Unknown/NewestNotKnown: Progressing is True (Retrying)", "False/NotHeld: ",
		},
		"NoWorkloads": {
			"An extension may consist of CustomResourceDefinitions.", Inputs{Conditions: succeeded},
			"Unknown/NoWorkloads: It has no Deployment, StatefulSet or DaemonSet", "True/NewestRuns: ", "False/NotHeld: ",
		},
		"Held": {
			"OLM v1 tries to update, and is denied.",
			Inputs{Conditions: progressing("True", "Retrying", denial, 2), Workloads: running, Holds: []holdv1alpha1.UpgradeHold{hold("b", "True", "True"), hold("a", "True", "False")}},
			"True/WorkloadsAvailable: ", "False/NewestDoesNotRun: Its update is held",
			"True/Because: UpgradeHold a: It is busy (not enforced: PolicyNotBound); UpgradeHold b: It is busy",
		},
		"HeldWithoutUpdate": {
			"The newest version runs, and must not be updated.", Inputs{Conditions: succeeded, Workloads: running, Holds: []holdv1alpha1.UpgradeHold{hold("a", "True", "True")}},
			"True/WorkloadsAvailable: ", "True/NewestRuns: ", "True/Because: UpgradeHold a: It is busy",
		},
		"Released": {
			"OLM v1 still reports the denial, and has not tried again.",
			Inputs{Conditions: progressing("True", "Retrying", denial, 2), Workloads: running, Holds: []holdv1alpha1.UpgradeHold{hold("a", "False", "False"), deleted}},
			"True/WorkloadsAvailable: ", "Unknown/NewestNotKnown: Progressing is True (Retrying)", "False/NotHeld: ",
		},
		"Blocked": {
			"OLM v1 has not resolved anything.", Inputs{Conditions: progressing("False", "Blocked", "no bundles found", 2), Workloads: running},
			"True/WorkloadsAvailable: ", "Unknown/NewestNotKnown: Progressing is False (Blocked)", "False/NotHeld: ",
		},
		"Changed": {
			"OLM v1 has not seen the spec.", Inputs{Conditions: progressing("True", "Succeeded", "", 1), Workloads: running},
			"True/WorkloadsAvailable: ", "Unknown/NewestNotKnown: operator-controller has not resolved its spec yet", "False/NotHeld: ",
		},
		"New": {
			"Nothing has happened yet.", Inputs{},
			"Unknown/NoWorkloads: It has no Deployment, StatefulSet or DaemonSet", "Unknown/NewestNotKnown: operator-controller has not resolved its spec yet", "False/NotHeld: ",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.in.Generation, tc.in.Now = 2, metav1.Unix(100, 0)
			first := Compute(tc.in)
			var got []string
			for _, c := range first {
				got = append(got, string(c.Status)+"/"+c.Reason+": "+c.Message)
				if c.ObservedGeneration != 2 || !c.LastTransitionTime.Equal(&tc.in.Now) {
					t.Errorf("%s is of generation %d, since %s", c.Type, c.ObservedGeneration, c.LastTransitionTime)
				}
			}
			if diff := cmp.Diff([]string{tc.running, tc.upToDate, tc.held}, got); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
			tc.in.Conditions, tc.in.Now = append(tc.in.Conditions, first...), metav1.Unix(200, 0)
			if diff := cmp.Diff(first, Compute(tc.in)); diff != "" {
				t.Errorf("the conditions change although nothing did: -before +after\n%s", diff)
			}
		})
	}
}
