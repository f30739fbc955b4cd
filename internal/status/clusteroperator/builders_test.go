package clusteroperator

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	configv1 "github.com/openshift/api/config/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	platformv1alpha1 "github.com/operator-status/operator-status/api/platform/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/cvotest"
)

var (
	past = metav1.Unix(1000, 0)
	now  = metav1.Unix(5000, 12345) // more precise than the API server stores
)

// healthy returns a PlatformOperator that is installed and runs, with changes.
func healthy(name string, changes ...func(*platformv1alpha1.PlatformOperator)) platformv1alpha1.PlatformOperator {
	out := platformv1alpha1.PlatformOperator{ObjectMeta: metav1.ObjectMeta{Name: name, Generation: 2}}
	out.Status.ObservedGeneration = 2
	out.Status.Conditions = []metav1.Condition{
		{Type: "Installed", Status: "True", Reason: "Installed", Message: name + ".v1 is installed"},
		{Type: "Progressing", Status: "False", Reason: "AsDesired", Message: "Nothing is being installed or updated"},
		{Type: "Upgradeable", Status: "True", Reason: "Upgradeable", Message: "It may be updated"},
	}
	for _, change := range changes {
		change(&out)
	}
	return out
}

// withCondition sets a condition of a PlatformOperator from "False/Reason: message".
func withCondition(conditionType, what string) func(*platformv1alpha1.PlatformOperator) {
	return func(p *platformv1alpha1.PlatformOperator) {
		what, message, _ := strings.Cut(what, ": ")
		status, reason, _ := strings.Cut(what, "/")
		for i := range p.Status.Conditions {
			if c := &p.Status.Conditions[i]; c.Type == conditionType {
				c.Status, c.Reason, c.Message = metav1.ConditionStatus(status), reason, message
			}
		}
	}
}

// failing makes a PlatformOperator have been failing for that long.
func failing(since time.Duration, what string) func(*platformv1alpha1.PlatformOperator) {
	return func(p *platformv1alpha1.PlatformOperator) {
		p.Status.FailingSince = before(since)
		p.Status.FailingReason, p.Status.FailingMessage, _ = strings.Cut(what, ": ")
	}
}

func quiet(since time.Duration) func(*platformv1alpha1.PlatformOperator) {
	return func(p *platformv1alpha1.PlatformOperator) { p.Status.QuietSince = before(since) }
}

// broken makes a PlatformOperator not installed, and failing for ten minutes because of that.
func broken(what string) func(*platformv1alpha1.PlatformOperator) {
	return func(p *platformv1alpha1.PlatformOperator) {
		withCondition("Installed", "False/"+what)(p)
		failing(10*time.Minute, what)(p)
	}
}

func before(d time.Duration) *metav1.Time {
	out := metav1.NewTime(now.Add(-d)).Rfc3339Copy()
	return &out
}

func holds(p *platformv1alpha1.PlatformOperator)    { p.Spec.HoldClusterUpdates = true }
func outdated(p *platformv1alpha1.PlatformOperator) { p.Generation++ }
func deleting(p *platformv1alpha1.PlatformOperator) { p.DeletionTimestamp = &past }

// leaving has a PlatformOperator be deleted, with a reason of Synced.
func leaving(reason string) func(*platformv1alpha1.PlatformOperator) {
	return func(p *platformv1alpha1.PlatformOperator) {
		deleting(p)
		p.Finalizers = []string{platformv1alpha1.Finalizer}
		p.Status.Conditions = append(p.Status.Conditions, metav1.Condition{Type: platformv1alpha1.ConditionSynced, Reason: reason})
	}
}

func unread(p *platformv1alpha1.PlatformOperator) {
	p.Status = platformv1alpha1.PlatformOperatorStatus{}
}

// The status of the ClusterOperator at two moments: before the first installation, and long after it.
var (
	first = configv1.ClusterOperatorStatus{}
	later = configv1.ClusterOperatorStatus{
		Conditions: []configv1.ClusterOperatorStatusCondition{
			{Type: "Available", Status: "True", LastTransitionTime: past, Reason: "PlatformOperatorsInstalled", Message: "So it is"},
			{Type: "Progressing", Status: "False", LastTransitionTime: past, Reason: "PlatformOperatorsInstalled", Message: "So it is"},
			{Type: "Degraded", Status: "False", LastTransitionTime: past, Reason: "AsExpected", Message: "So it is"},
		},
		Versions: []configv1.OperandVersion{{Name: "operator", Version: "1.0.0"}},
	}
)

// reader summarizes the conditions and the version of a ClusterOperator, as a user sees them in a table.
func reader(status configv1.ClusterOperatorStatus) string {
	out := make([]string, 0, 5)
	for _, t := range []configv1.ClusterStatusConditionType{"Available", "Progressing", "Degraded", "Upgradeable"} {
		if i := Find(&status, t); i >= 0 {
			out = append(out, fmt.Sprintf("%s=%s/%s", t, status.Conditions[i].Status, status.Conditions[i].Reason))
		}
	}
	if v := written(&status); v != nil {
		out = append(out, "version="+v.Version)
	}
	return strings.Join(out, " ")
}

// texts maps conditions to text that their messages must contain.
type texts map[configv1.ClusterStatusConditionType]string

func message(status configv1.ClusterOperatorStatus, t configv1.ClusterStatusConditionType) string {
	if i := Find(&status, t); i >= 0 {
		return status.Conditions[i].Message
	}
	return ""
}

// inertia is the manager's default DegradedInertia.
const inertia = 2 * time.Minute

// checked returns the status, after checking it and the previous one against the rules of the Cluster Version Operator.
func checked(t *testing.T, in Inputs) configv1.ClusterOperatorStatus {
	t.Helper()
	in.DegradedInertia = inertia
	checker := cvotest.New()
	if err := checker.Observe(&configv1.ClusterOperator{Status: in.Current}); err != nil {
		t.Fatalf("the status before: %v", err)
	}
	given := in
	given.Current = *in.Current.DeepCopy()
	given.Operators = nil
	for i := range in.Operators {
		given.Operators = append(given.Operators, *in.Operators[i].DeepCopy())
	}
	out, lasts := Compute(in)
	if diff := cmp.Diff(given, in); diff != "" {
		t.Errorf("Compute changed its input: %s", diff)
	}
	if err := checker.Observe(&configv1.ClusterOperator{Status: out}); err != nil {
		t.Errorf("rules of the Cluster Version Operator: %v", err)
	}
	in.Current, in.Now = out, metav1.NewTime(in.Now.Add(time.Second))
	if lasts > time.Second || lasts == 0 {
		slices.Reverse(in.Operators)
		again, _ := Compute(in)
		slices.Reverse(in.Operators)
		if diff := cmp.Diff(out, again); diff != "" {
			t.Errorf("the status differs a second later without a change: %s", diff)
		}
	}
	return out
}

// The four scenarios of the proposal, as the PlatformOperators report them.
const (
	noPackage  = "PackageNotFound: There is no package bar in catalog olm/operators"
	noUnpack   = "BundleInvalid: Bundle bar.v1 cannot be unpacked: its manifests have no ClusterServiceVersion"
	refused    = "InstallPlanFailed: InstallPlan bar/install-1: the API server refuses Service bar: spec.ports: Required value"
	noRollout  = "InstallCheckFailed: Deployment bar/bar-operator has 0 of 1 pods available: back-off pulling image example.com/bar"
	onItsWay   = "Installing: Waiting for InstallPlan bar/install-1 to be complete"
	beingMoved = "Updating: bar.v2 is being installed"
)
