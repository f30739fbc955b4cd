package installer

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/operator"
)

// one is an installer that reads Probes, and describes an operator by each of the names.
type one struct {
	name  string
	names []string
}

func (i one) Name() string { return i.name }

func (i one) Kinds() []Kind {
	return []Kind{{GroupVersionKind: v1alpha1.GroupVersion.WithKind(v1alpha1.ProbeKind), Plural: "Probes"}}
}

func (i one) Operators(Cluster) []operator.Operator {
	var out []operator.Operator
	for _, name := range i.names {
		out = append(out, operator.Operator{Namespace: "default", Name: name, State: operator.Running})
	}
	return out
}

// checking is an installer that also knows what would block a future update.
type checking struct{ one }

func (checking) CheckKinds() []Kind { return nil }

func (i checking) Check(c Cluster) []operator.Operator {
	out := i.Operators(c)
	for j := range out {
		out[j].Blockers = []operator.Blocker{{Impact: operator.Held}}
	}
	return out
}

// TestInstallers verifies that the operators of all installers are listed together, and that an optional interface is used where it
// is implemented.
func TestInstallers(t *testing.T) {
	all := Installers{one{"b", []string{"same", "second"}}, checking{one{"a", []string{"same", "first"}}}}
	if kinds := all.Kinds(); len(kinds) != 1 {
		t.Errorf("two installers that read the same kind have it read %d times", len(kinds))
	}
	lines := func(operators []operator.Operator) (out []string) {
		for _, op := range operators {
			out = append(out, op.Name+" by "+op.Installer+" "+string(op.Blocked()))
		}
		return out
	}
	if diff := cmp.Diff([]string{"first by a ", "same by a ", "same by b ", "second by b "}, lines(all.Operators(Cluster{}))); diff != "" {
		t.Errorf("operators: -want +got\n%s", diff)
	}
	if diff := cmp.Diff([]string{"first by a Held", "same by a Held", "same by b ", "second by b "}, lines(all.Check(Cluster{}))); diff != "" {
		t.Errorf("check: -want +got\n%s", diff)
	}
	broken := operator.Operator{Namespace: "default", Name: "foo", Blockers: []operator.Blocker{{Impact: operator.Broken, Cause: "It is full"}}}
	want := operator.Node{Name: "Operator default/foo", State: "Broken", Message: "It is full"}
	if diff := cmp.Diff(want, all.Trees(Cluster{})(broken)); diff != "" {
		t.Errorf("tree of an installer that does not know the objects: -want +got\n%s", diff)
	}
}

// TestOrphans verifies that a Probe without an operator is reported beside the existing operators, by check alone.
func TestOrphans(t *testing.T) {
	probe := func(name, reason string) *v1alpha1.Probe {
		out := &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
		out.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionSynced, Status: metav1.ConditionFalse, Reason: reason, Message: "Why"}}
		return out
	}
	c := Cluster{Objects: []Object{probe("foo.v0", v1alpha1.ReasonOperatorNotFound), probe("foo.v1", v1alpha1.ReasonForbidden)}}
	all := Installers{one{"a", []string{"foo"}}}
	var got []string
	for _, op := range all.Check(c) {
		got = append(got, op.Name)
		for _, b := range op.Blockers {
			got = append(got, string(b.Impact)+" by "+b.By+": "+b.Reason)
			for _, s := range b.Steps {
				got = append(got, s.To+": "+s.Command)
			}
		}
	}
	want := []string{
		"foo",
		"foo.v0",
		"Broken by Probe default/foo.v0: OperatorNotFound",
		"To see why: kubectl describe probe.operators.coreos.com -n default foo.v0",
		"To remove it: kubectl delete probe.operators.coreos.com -n default foo.v0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if operators := all.Operators(c); len(operators) != 1 {
		t.Errorf("orphans are listed as operators: %+v", operators)
	}
}
