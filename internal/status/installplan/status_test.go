package installplan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/gate"
	"github.com/operator-status/operator-status/internal/status/condition"
	"github.com/operator-status/operator-status/internal/test/golden"
)

// event sets the findings of a reconcile.
type event func(*Inputs)

func noSuch(what string) event {
	return func(in *Inputs) {
		in.Problem = &condition.Problem{Reason: v1alpha1.ReasonConstraintsNotSatisfiable, Message: "There is no " + what}
	}
}

// found resolves the plan to ConfigMaps of foo.v1.
func found(names ...string) event {
	return func(in *Inputs) {
		in.Resolution = &Resolution{}
		for _, name := range names {
			in.Resolution.Steps = append(in.Resolution.Steps, &olm.Step{Resolving: "foo.v1", Status: olm.StepStatusUnknown,
				Resource: olm.StepResource{Kind: "ConfigMap", Name: name, CatalogSource: "community", CatalogSourceNamespace: "olm"}})
		}
	}
}

func from(catalogs ...string) event {
	return func(in *Inputs) {
		in.Resolution = &Resolution{}
		for _, name := range catalogs {
			in.Resolution.Steps = append(in.Resolution.Steps, &olm.Step{Resource: olm.StepResource{CatalogSource: name}})
		}
	}
}

func with(b Bundle) event {
	return func(in *Inputs) {
		found("a")(in)
		b.Name, b.Replaces, b.Catalog = "foo.v1", "foo.v0", types.NamespacedName{Namespace: "olm", Name: "community"}
		in.Resolution.Bundles = []Bundle{b}
	}
}

func as(account string) event {
	return func(in *Inputs) {
		found("a")(in)
		in.Resolution.ServiceAccount = types.NamespacedName{Namespace: "default", Name: account}
	}
}

func decided(d gate.Decision) event { return func(in *Inputs) { in.Gate = &d } }

func holding(message string) event {
	return decided(gate.Decision{Held: true, Reason: v1alpha1.ReasonProbeNotUpgradeable, Message: message})
}

func overridden(in *Inputs) {
	in.Gate = &gate.Decision{Reason: v1alpha1.ReasonOverridden, Message: "It goes on", Overridden: true}
}

func notHeld(in *Inputs) { in.Gate = &gate.Decision{} }

func manual(in *Inputs) { in.Plan.Spec.Approval, in.Plan.Spec.Approved = olm.ApprovalManual, false }

func approved(in *Inputs) { in.Plan.Spec.Approved = true }

func wrote(names ...string) event {
	return func(in *Inputs) {
		for _, name := range names {
			in.Written = append(in.Written, Object{"foo.v1", "ConfigMap", name})
		}
	}
}

func fails(message string) event {
	return func(in *Inputs) {
		in.Result = &Result{olm.InstallPlanPhaseInstalling, condition.Problem{Reason: v1alpha1.PlanReasonRetrying, Message: message}}
	}
}

func refused(reason string) event {
	return func(in *Inputs) {
		in.Result = &Result{olm.InstallPlanPhaseFailed, condition.Problem{Reason: reason, Message: "ConfigMap foo of foo.v1: no"}}
	}
}

func complete(in *Inputs) { in.Result = &Result{Phase: olm.InstallPlanPhaseComplete} }

func all(events ...event) event {
	return func(in *Inputs) {
		for _, e := range events {
			e(in)
		}
	}
}

// lines formats a status: phase, message, steps that are present, start, and each condition with its two times.
func lines(s olm.InstallPlanStatus) []string {
	seconds := func(t *metav1.Time) int64 {
		if t == nil {
			return 0
		}
		return t.Unix()
	}
	present := 0
	for _, step := range s.Plan {
		if step.Status == olm.StepStatusPresent {
			present++
		}
	}
	out := []string{fmt.Sprintf("%s: %s", s.Phase, s.Message), fmt.Sprintf("%d of %d steps, started %d", present, len(s.Plan), seconds(s.StartTime))}
	for _, c := range s.Conditions {
		out = append(out, fmt.Sprintf("%s=%s/%s: %s (%d, %d)", c.Type, c.Status, c.Reason, c.Message, seconds(c.LastTransitionTime), seconds(c.LastUpdateTime)))
	}
	return out
}

func TestCompute(t *testing.T) {
	statuses := golden.Open(t)
	const (
		resolvedAt1 = "Resolved=True/Resolved:  (1, 1)"
		mend        = ". Fix the cause, then delete this InstallPlan to have it recreated"
		refusal     = "ConfigMap foo of foo.v1: no"
	)
	digest := "sha256:" + strings.Repeat("a", 64)
	cases := map[string]struct {
		reason string
		events []event // at 1, 2, 3 … seconds; each status is written before the next
		want   []string
	}{
		"Unresolved": {"A plan that cannot be resolved stays in Planning with the reason.", []event{noSuch("foo")},
			[]string{"Planning: There is no foo", "0 of 0 steps, started 0", "Resolved=False/ConstraintsNotSatisfiable: There is no foo (1, 1)"}},
		"UnresolvedOtherwise": {"A changed message keeps the transition time.", []event{noSuch("foo"), noSuch("bar")},
			[]string{"Planning: There is no bar", "0 of 0 steps, started 0", "Resolved=False/ConstraintsNotSatisfiable: There is no bar (1, 2)"}},
		"Resolved": {"The message of a problem is removed once the plan is resolved.", []event{noSuch("foo"), found("a", "b")},
			[]string{"RequiresApproval: ", "0 of 2 steps, started 0", "Resolved=True/Resolved:  (2, 2)"}},
		"UnresolvedAgain": {"A plan whose bundle became invalid before the first write is planned again, even after the gate allowed it.",
			[]event{all(found("a"), notHeld), all(noSuch("bundle"), notHeld)},
			[]string{"Planning: There is no bundle", "0 of 1 steps, started 1", "Resolved=False/ConstraintsNotSatisfiable: There is no bundle (2, 2)"}},
		"CatalogSources": {"CatalogSources are sorted, without duplicates.", []event{from("b", "a", "b")},
			[]string{"RequiresApproval: ", "0 of 3 steps, started 0", resolvedAt1}},
		"NoCatalogSources": {"The list of CatalogSources is empty and not nil, since the field is required.", []event{from()},
			[]string{"RequiresApproval: ", "0 of 0 steps, started 0", resolvedAt1}},
		"Image": {"The digest that a tag resolved to is recorded.", []event{with(Bundle{Image: "example.com/foo:v1", Digest: digest})},
			[]string{"RequiresApproval: ", "0 of 1 steps, started 0", resolvedAt1}},
		"ImageWithDigest": {"A digest in the image reference is not repeated.", []event{with(Bundle{Image: "example.com/foo@" + digest, Digest: digest})},
			[]string{"RequiresApproval: ", "0 of 1 steps, started 0", resolvedAt1}},
		"Inlined": {"A bundle that the catalog contains has no image.", []event{with(Bundle{})},
			[]string{"RequiresApproval: ", "0 of 1 steps, started 0", resolvedAt1}},
		"Signed": {"The signers of the image are recorded, for the user who approves the plan.", []event{with(Bundle{Image: "example.com/foo:v1", Digest: digest, SignedBy: "acme (ImagePolicy acme)"})},
			[]string{"RequiresApproval: ", "0 of 1 steps, started 0", resolvedAt1}},
		"ServiceAccount": {"The service account is recorded as in OLM.", []event{as("installer")}, []string{"RequiresApproval: ", "0 of 1 steps, started 0", resolvedAt1}},
		"NoServiceAccount": {"The service account of an earlier resolution is removed.", []event{as("installer"), found("a")},
			[]string{"RequiresApproval: ", "0 of 1 steps, started 0", resolvedAt1}},
		"Manual": {"The message of a plan with Manual approval contains the command to approve it.", []event{all(found("a"), manual, notHeld)}, []string{
			"RequiresApproval: Waiting for approval: kubectl patch installplan.operators.coreos.com -n default install-1 --type merge -p '{\"spec\":{\"approved\":true}}'",
			"0 of 1 steps, started 0", resolvedAt1}},
		"ManualApproved": {"An approved plan is installed.", []event{all(found("a"), manual, notHeld), all(approved, notHeld)},
			[]string{"Installing: ", "0 of 1 steps, started 2", resolvedAt1}},
		"Held": {"The message of the gate is the message of the plan.", []event{all(found("a"), holding("Foo is busy"))},
			[]string{"RequiresApproval: Foo is busy", "0 of 1 steps, started 0", resolvedAt1, "UpgradeHeld=True/ProbeNotUpgradeable: Foo is busy (1, 1)"}},
		"HeldAlthoughApproved": {"A user's approval does not override a hold.", []event{all(found("a"), manual, approved, holding("Foo is busy"))},
			[]string{"RequiresApproval: Foo is busy", "0 of 1 steps, started 0", resolvedAt1, "UpgradeHeld=True/ProbeNotUpgradeable: Foo is busy (1, 1)"}},
		"HeldByMore": {"A changed message of a hold keeps the transition time.", []event{all(found("a"), holding("Foo is busy")), holding("Bar is busy")},
			[]string{"RequiresApproval: Bar is busy", "0 of 1 steps, started 0", resolvedAt1, "UpgradeHeld=True/ProbeNotUpgradeable: Bar is busy (1, 2)"}},
		"HeldBeforeTheFirstWrite": {"The gate is evaluated a last time after the dry run.", []event{all(found("a"), notHeld), holding("Foo is busy")},
			[]string{"RequiresApproval: Foo is busy", "0 of 1 steps, started 1", resolvedAt1, "UpgradeHeld=True/ProbeNotUpgradeable: Foo is busy (2, 2)"}},
		"NotHeldAnyMore": {"The message of a hold is removed when the hold ends.", []event{all(found("a"), holding("Foo is busy")), notHeld},
			[]string{"Installing: ", "0 of 1 steps, started 2", resolvedAt1, "UpgradeHeld=False/NotHeld:  (2, 2)"}},
		"NeverHeld": {"A plan that was never held has no condition UpgradeHeld.", []event{all(found("a"), notHeld)}, []string{"Installing: ", "0 of 1 steps, started 1", resolvedAt1}},
		"Overridden": {"An override is recorded in the condition, and the plan is installed.", []event{all(found("a"), overridden)},
			[]string{"Installing: ", "0 of 1 steps, started 1", resolvedAt1, "UpgradeHeld=False/Overridden: It goes on (1, 1)"}},
		"NotEvaluated": {"A plan that is resumed keeps the decision of the gate.", []event{all(found("a"), overridden), complete},
			[]string{"Complete: ", "0 of 1 steps, started 1", resolvedAt1, "UpgradeHeld=False/Overridden: It goes on (1, 1)", "Installed=True/:  (2, 2)"}},
		"Retrying": {"A transient error is reported, and the plan continues.", []event{all(found("a"), notHeld), fails("busy"), notHeld, fails("away")},
			[]string{"Installing: away", "0 of 1 steps, started 1", resolvedAt1, "Installed=False/Retrying: away (2, 4)"}},
		"TriedAgain": {"The message of a failed attempt is kept during the next one, since each status update enqueues the plan.",
			[]event{all(found("a"), notHeld), fails("no permission"), notHeld},
			[]string{"Installing: no permission", "0 of 1 steps, started 1", resolvedAt1, "Installed=False/Retrying: no permission (2, 2)"}},
		"Written": {"Steps that have been written keep the status Present.",
			[]event{all(found("a", "b", "c"), notHeld), all(wrote("a"), fails("busy")), all(wrote("c"), fails("busy"))},
			[]string{"Installing: busy", "2 of 3 steps, started 1", resolvedAt1, "Installed=False/Retrying: busy (2, 2)"}},
		"WrittenByOthers": {"An object of another bundle or kind does not complete a step.", []event{all(found("a"), notHeld),
			func(in *Inputs) {
				in.Written = []Object{{"bar.v1", "ConfigMap", "a"}, {"foo.v1", "Secret", "a"}, {"foo.v1", "ConfigMap", "b"}}
			}},
			[]string{"Installing: ", "0 of 1 steps, started 1", resolvedAt1}},
		"Refused": {"The message of a failed plan suggests how to repair it.", []event{all(found("a", "b"), notHeld), fails("busy"), refused(v1alpha1.PlanReasonComponentFailed)},
			[]string{"Failed: " + refusal + ". Nothing has been written" + mend, "0 of 2 steps, started 1", resolvedAt1,
				"Installed=False/InstallComponentFailed: " + refusal + ". Nothing has been written" + mend + " (2, 3)"}},
		"RefusedHalfway": {"The message of a failed plan lists the objects that were written.",
			[]event{all(found("a", "b"), notHeld), all(wrote("a"), refused(v1alpha1.PlanReasonComponentFailed))},
			[]string{"Failed: " + refusal + ". Written so far: ConfigMap a" + mend, "1 of 2 steps, started 1", resolvedAt1,
				"Installed=False/InstallComponentFailed: " + refusal + ". Written so far: ConfigMap a" + mend + " (2, 2)"}},
		"ContentGone": {"The message of a plan without its bundle lists the objects that may be missing.",
			[]event{all(found("a", "b"), notHeld), all(wrote("a"), fails("busy")), refused(v1alpha1.PlanReasonContentGone)},
			[]string{"Failed: " + refusal + ". Not known to be written: ConfigMap b of foo.v1" + mend, "1 of 2 steps, started 1", resolvedAt1,
				"Installed=False/ContentGone: " + refusal + ". Not known to be written: ConfigMap b of foo.v1" + mend + " (2, 3)"}},
		"ContentChanged": {"A plan whose content changed fails with the steps of the previous content.", []event{all(found("a"), notHeld), refused(v1alpha1.PlanReasonContentChanged)},
			[]string{"Failed: " + refusal + mend, "0 of 1 steps, started 1", resolvedAt1, "Installed=False/ContentChanged: " + refusal + mend + " (2, 2)"}},
		"IdentityChanged": {"A plan whose service account changed fails, since it is recreated for the new one.", []event{all(found("a"), notHeld), refused(v1alpha1.PlanReasonIdentityChanged)},
			[]string{"Failed: " + refusal + mend, "0 of 1 steps, started 1", resolvedAt1, "Installed=False/IdentityChanged: " + refusal + mend + " (2, 2)"}},
		"OtherContent": {"A plan with Automatic approval is installed even if its content has changed since it was resolved.",
			[]event{all(found("a"), notHeld), all(found("b", "c"), notHeld, wrote("b", "c"), complete)},
			[]string{"Complete: ", "2 of 2 steps, started 1", resolvedAt1, "Installed=True/:  (2, 2)"}},
		"Complete": {"Errors of earlier attempts are removed when the plan is complete.", []event{all(found("a"), notHeld), fails("busy"), all(wrote("a"), complete)},
			[]string{"Complete: ", "1 of 1 steps, started 1", resolvedAt1, "Installed=True/:  (3, 3)"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			plan := &olm.InstallPlan{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "install-1"}, Spec: olm.InstallPlanSpec{Approval: olm.ApprovalAutomatic}}
			for i, e := range tc.events {
				in := Inputs{Plan: plan, Now: metav1.Unix(int64(i+1), 5)}
				e(&in)
				before := plan.DeepCopy()
				status := Compute(in)
				if diff := cmp.Diff(before, plan); diff != "" {
					t.Errorf("Compute changed its input:\n%s", diff)
				}
				plan.Status = status
			}
			if diff := cmp.Diff(tc.want, lines(plan.Status)); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
			statuses.Check(t, name, plan.Status)
			in := Inputs{Plan: plan, Now: metav1.Unix(1000, 0)}
			tc.events[len(tc.events)-1](&in)
			in.Resolution = nil
			if diff := cmp.Diff(plan.Status, Compute(in)); diff != "" {
				t.Errorf("the second result differs, so it would be written again:\n%s", diff)
			}
		})
	}
}

// TestCompatible verifies that breaking changes come first, and that an error is no success.
func TestCompatible(t *testing.T) {
	const changes = "Images: no changes. Rights: no changes"
	cases := map[string]struct {
		reason  string
		preview Preview
		want    string
	}{
		"Valid":    {"All custom resources stay valid.", Preview{Changes: changes}, "True/CustomResourcesValid: " + changes},
		"Breaking": {"One would become invalid.", Preview{Changes: changes, Breaking: "Foo a is invalid"}, "False/CRDUpdateUnsafe: Foo a is invalid. " + changes},
		"Unknown": {
			"Some could not be read.", Preview{Changes: changes, Unknown: "foos is forbidden"},
			"Unknown/NotCompared: The custom resources have not been checked: foos is forbidden. " + changes,
		},
		"BreakingAndUnknown": {
			"One is enough to know.", Preview{Changes: changes, Breaking: "Foo a is invalid", Unknown: "bars is forbidden"},
			"False/CRDUpdateUnsafe: Foo a is invalid. " + changes,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := compatible(tc.preview, metav1.Time{})
			if got := fmt.Sprintf("%s/%s: %s", c.Status, c.Reason, c.Message); got != tc.want {
				t.Errorf("%s\ngot  %s\nwant %s", tc.reason, got, tc.want)
			}
		})
	}
}
