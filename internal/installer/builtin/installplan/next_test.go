package installplan

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operator-status/operator-status/internal/apply"
	"github.com/operator-status/operator-status/internal/gate"
	"github.com/operator-status/operator-status/internal/status/condition"
)

func TestNext(t *testing.T) {
	in := func(phase olm.InstallPlanPhase, steps int) *olm.InstallPlan {
		out := plan()
		out.Spec.Approval, out.Status.Phase, out.Status.Plan = olm.ApprovalAutomatic, phase, make([]*olm.Step, steps)
		return out
	}
	manual := func(approved bool, owners ...string) *olm.InstallPlan {
		out := in("", 0)
		out.Spec.Approval, out.Spec.Approved = olm.ApprovalManual, approved
		for _, kind := range owners {
			out.OwnerReferences = append(out.OwnerReferences, metav1.OwnerReference{Kind: kind})
		}
		return out
	}
	of := func(owner string) *olm.InstallPlan { return manual(true, owner) }
	problem := &condition.Problem{Reason: "BundleInvalid"}
	held, free := &gate.Decision{Held: true}, &gate.Decision{}
	refused, moved := error(&permanentError{"InstallComponentFailed", "no"}), error(&identityChanged{to: apply.Identity{Namespace: "default", Name: "a"}})
	cases := map[string]struct {
		reason string
		after  action
		facts  facts
		want   action
	}{
		"new": {"A plan that has not begun is resolved.", begin, facts{plan: in("", 0)}, resolvePlan},
		"waiting": {"A plan that waits is resolved again, since catalogs change.", begin, facts{plan: in(olm.InstallPlanPhaseRequiresApproval, 1)},
			resolvePlan},
		"interrupted": {"A plan that is Installing may have written something, by a process that was killed.", begin,
			facts{plan: in(olm.InstallPlanPhaseInstalling, 1)}, readStored},
		"stored": {"It goes on with exactly the content that it began with.", readStored, facts{stored: kept, begun: true}, resume},
		"stored, not begun": {"Nothing of the update has been written: the operator may have become busy since.", readStored, facts{stored: kept},
			evaluateKept},
		"stored, held": {"Nothing has been written yet.", evaluateKept, facts{gate: held}, waitForRelease},
		"stored, free": {"It goes on with the content that it began with.", evaluateKept, facts{gate: free}, resume},
		"never stored": {"Nothing is written before the content is stored, so that resolving again is safe.", readStored, facts{stored: notStored},
			resolvePlan},
		"lost":               {"The rest of what was written by halves is unknown.", readStored, facts{stored: lost}, fail},
		"resumed":            {"The dry run was before the first write.", resume, facts{}, applyContent},
		"not resumed":        {"Without its OperatorGroup it is not applied.", resume, facts{err: errors.New("no OperatorGroup")}, retry},
		"resolved":           {"Each plan that can be resolved passes the gate.", resolvePlan, facts{plan: in("", 0)}, evaluate},
		"unresolved":         {"An admin sees why.", resolvePlan, facts{plan: in("", 0), problem: problem}, reportProblem},
		"unresolved, unread": {"A new plan has nothing else to show.", resolvePlan, facts{plan: in("", 0), problem: problem, unread: true}, reportProblem},
		"resolved before": {"A restart must not replace what was shown until all catalogs have been read.", resolvePlan,
			facts{plan: in("", 1), problem: problem, unread: true}, rest},
		"not resolved anymore": {"A catalog no longer has the bundle.", resolvePlan, facts{plan: in("", 1), problem: problem}, reportProblem},
		"held":                 {"An operator that is not upgradeable holds its update.", evaluate, facts{plan: in("", 1), gate: held}, waitForRelease},
		"held, approved":       {"A user's approval does not override an operator.", evaluate, facts{plan: manual(true), gate: held}, waitForRelease},
		"manual":               {"A user has to approve it.", evaluate, facts{plan: manual(false), gate: free}, waitForRelease},
		"manual, approved":     {"A user has approved it.", evaluate, facts{plan: manual(true), gate: free}, approve},
		"automatic":            {"Nothing holds it, and no user has to approve it.", evaluate, facts{plan: in("", 1), gate: free}, approve},
		"approved":             {"What is installed is read when it may be.", approve, facts{}, readBundles},
		"as shown":             {"Everything is dry-run before anything is written.", readBundles, facts{plan: manual(true)}, dryRun},
		"invalid":              {"The bundle became invalid.", readBundles, facts{plan: in("", 1), problem: problem, unread: true}, reportProblem},
		"changed":              {"No user has to review the changed content.", readBundles, facts{plan: in("", 1), changed: true}, dryRun},
		"changed, manual": {"A user approved other content: the Subscription creates a plan that shows this one.", readBundles,
			facts{plan: of("Subscription"), changed: true}, recreate},
		"changed, of a user": {"No Subscription would create it again.", readBundles, facts{plan: of("ConfigMap"), changed: true}, fail},
		"dry-run":            {"The content is stored before the first write, so that no kill loses it.", dryRun, facts{}, storeContent},
		"dry run refused":    {"Nothing is written of a plan that the API server rejects.", dryRun, facts{err: refused}, fail},
		"dry run forbidden":  {"A permission may be granted.", dryRun, facts{err: errors.New("forbidden")}, retry},
		"safe":               {"From now on the plan is resumed.", storeContent, facts{}, applyContent},
		"held now": {"Until the first write the operator may become busy.", applyContent, facts{gate: held, err: &heldError{*held}},
			waitForRelease},
		"applied":          {"Everything is written.", applyContent, facts{}, finish},
		"refused":          {"No retry helps.", applyContent, facts{err: refused}, fail},
		"failed":           {"Writing an object again changes nothing.", applyContent, facts{err: errors.New("away")}, retry},
		"moved":            {"Another service account has to be checked from the beginning.", applyContent, facts{plan: of("Subscription"), err: moved}, recreate},
		"moved, of a user": {"No Subscription would create it again.", applyContent, facts{plan: manual(true), err: moved}, fail},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := next(tc.after, tc.facts); got != tc.want {
				t.Errorf("%s\ngot %s; want %s", tc.reason, got, tc.want)
			}
		})
	}
	for _, tc := range cases {
		if a := new(attempt); a.act(tc.want) == nil && a.end(tc.want) == nil {
			t.Errorf("%s is never done", tc.want)
		}
	}
}

// TestActions verifies that each action is done, and that another one follows unless it ends the reconcile.
func TestActions(t *testing.T) {
	actions := actionsOf(t, "next.go")
	if len(actions) == 0 {
		t.Fatal("no action found: has the type been renamed?")
	}
	a := &attempt{facts: facts{plan: plan(), gate: &gate.Decision{}}}
	for _, do := range actions {
		acts, ends := a.act(do) != nil, a.end(do) != nil
		if acts == ends && do != begin || do == begin && (acts || ends) {
			t.Errorf("%s has a method that continues the reconcile: %t; one that ends it: %t", do, acts, ends)
		}
		if follows := followedBy(do, a.facts); (follows == "") != ends {
			t.Errorf("%s is followed by %q, and ends the reconcile: %t", do, follows, ends)
		}
	}
}

// actionsOf returns the constants of type action in a file.
func actionsOf(t *testing.T, path string) []action {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var out []action
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if kind, ok := spec.Type.(*ast.Ident); ok && kind.Name == "action" {
			value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, action(value))
		}
		return true
	})
	return out
}

// followedBy returns the action that follows another, or "" if next panics.
func followedBy(after action, f facts) (out action) {
	defer func() { _ = recover() }()
	return next(after, f)
}

// TestResult verifies the reason and the message of each result, and when it is tried again.
func TestResult(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "a", errors.New("no permission"))
	cases := map[string]struct {
		reason string
		of     action
		facts  facts
		want   condition.Problem
	}{
		"Complete": {reason: "There is no problem.", of: finish},
		"Refused": {"The API server's message is quoted.", fail, facts{err: &permanentError{"KindNotServed", "no kind"}},
			condition.Problem{Reason: "KindNotServed", Message: "no kind"}},
		"ContentGone": {"An admin knows where it was.", fail, facts{stored: lost},
			condition.Problem{Reason: "ContentGone", Message: "The plan's content was stored in Secrets in the manager's namespace, which have been deleted"}},
		"ContentChanged": {"A user approved something else.", fail, facts{changed: true},
			condition.Problem{Reason: "ContentChanged", Message: "The plan's content changed after it was submitted for approval"}},
		"IdentityChanged": {"Both identities are named.", fail, facts{err: &identityChanged{to: apply.Identity{Namespace: "default", Name: "a"}}},
			condition.Problem{Reason: "IdentityChanged",
				Message: "the plan started as the manager, but the OperatorGroup now specifies service account default/a"}},
		"Forbidden": {"A permission is waited for.", retry, facts{err: &taskError{"ConfigMap a of foo.v1", forbidden}},
			condition.Problem{Reason: "Forbidden", Message: `ConfigMap a of foo.v1: configmaps "a" is forbidden: no permission`}},
		"NoServiceAccount": {"The service account is waited for.", retry, facts{err: &noAccount{errors.New("not found")}},
			condition.Problem{Reason: "ServiceAccountMissing", Message: "not found"}},
		"Transient": {"Everything else is tried again.", retry, facts{err: errors.New("away")}, condition.Problem{Reason: "Retrying", Message: "away"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.facts.result(tc.of); got == nil || got.Problem != tc.want {
				t.Errorf("%s\ngot %+v; want %+v", tc.reason, got, tc.want)
			}
		})
	}
	if got := (facts{}).result(waitForRelease); got != nil {
		t.Errorf("a plan that waits has the result %+v", got)
	}
}
