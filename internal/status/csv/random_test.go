package csv

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/csvchain"
)

// TestRandom verifies for random inputs that Compute changes none of them, and that its result is stable.
func TestRandom(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for i := range uint64(1000) {
		in := random(rand.New(rand.NewPCG(seed, i)))
		status := Compute(in)
		if diff := cmp.Diff(random(rand.New(rand.NewPCG(seed, i))), in); diff != "" {
			t.Errorf("Compute changed its input: %s", diff)
		}
		checkStable(t, in, status)
		available, progressing := status.GetCondition("Available").Status, status.GetCondition("Progressing").Status
		if (available == "True") != (status.Phase == olm.CSVPhaseSucceeded) || available == "True" && progressing == "True" {
			t.Errorf("in phase %s Available is %s and Progressing %s", status.Phase, available, progressing)
		}
		if n := len(status.LastTransitions); n > MaxTransitions || n == 0 && status.Phase != "" {
			t.Errorf("%d transitions are remembered", n)
		}
		if t.Failed() {
			t.Fatalf("round %d", i)
		}
	}
}

func random(r *rand.Rand) Inputs {
	decision := func() Decision {
		return Decision{
			pick(r, "", olm.CSVPhasePending, olm.CSVPhaseInstallReady, olm.CSVPhaseInstalling, olm.CSVPhaseSucceeded,
				olm.CSVPhaseFailed, olm.CSVPhaseUnknown, olm.CSVPhaseReplacing, olm.CSVPhaseDeleting, "Strange"),
			pick(r, "", olm.CSVReasonRequirementsUnknown, olm.CSVReasonInstallSuccessful), pick(r, "", "so it is"),
		}
	}
	csv := func() *v1alpha1.ClusterServiceVersion {
		out := etcd(pick(r, "1.0.0", "2.0.0", "0.0.0"))
		name := pick(r, csvchain.AnnotationProperties, v1alpha1.AnnotationSubscription, v1alpha1.AnnotationCatalogSource)
		out.Annotations[name] = pick(r, "", "/", "a/b/c", "{}", "[]")
		if r.IntN(3) == 0 {
			out.Annotations, out.Name = nil, pick(r, "", ".v", "v1")
		}
		if r.IntN(2) == 0 {
			out.Status.Conditions = []v1alpha1.ClusterServiceVersionCondition{{Phase: olm.CSVPhasePending}, {Type: "Upgradeable"}}
		}
		if r.IntN(4) == 0 {
			return out
		}
		var decisions []Decision
		for range r.IntN(30) {
			decisions = append(decisions, decision())
		}
		return withHistory(out, decisions...)
	}
	in := Inputs{CSV: csv(), Decision: decision(), CertsRotateAt: pick(r, nil, &past), Now: now}
	if r.IntN(2) == 0 {
		in.Replaced = csv()
	}
	if r.IntN(2) == 0 {
		in.Probe = &v1alpha1.Probe{Spec: pick(r, nil, &v1alpha1.ProbeSpec{}, &v1alpha1.ProbeSpec{Manager: v1alpha1.ManagerOperator})}
		if r.IntN(2) == 0 {
			in.Probe.Status.Conditions = []metav1.Condition{{Type: "Upgradeable", Status: pick(r, metav1.ConditionTrue, metav1.ConditionFalse, "")}}
		}
	}
	if r.IntN(2) == 0 {
		in.Requirements = []olm.RequirementStatus{{Name: pick(r, "a", "b")}, {Name: pick(r, "a", "b"), Message: strings.Repeat("x", r.IntN(3))}}
	}
	return in
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }
