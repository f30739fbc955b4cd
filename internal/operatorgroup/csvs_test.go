package operatorgroup

import (
	"testing"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

func TestCSVs(t *testing.T) {
	csv := func(name string, phase olm.ClusterServiceVersionPhase) *v1alpha1.ClusterServiceVersion {
		out := &v1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
		out.Status.Phase = phase
		return out
	}
	copied := csv("copied", "Succeeded")
	copied.Labels = map[string]string{olm.CopiedLabelKey: "elsewhere"}
	reason := csv("reason", "Succeeded")
	reason.Status.Reason = olm.CSVReasonCopied
	other := csv("other", "Succeeded")
	other.Namespace = "elsewhere"
	got, err := CSVs(t.Context(), cluster(t, csv("own", ""), copied, reason, other), "default")
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || got["own"] == nil || got["own"].Name != "own" {
		t.Errorf("got %v; want own, without copies from another namespace", got)
	}
}
