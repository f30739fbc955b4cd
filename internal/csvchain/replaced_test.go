package csvchain

import (
	"testing"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

func TestBeingReplaced(t *testing.T) {
	this := v1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Name: "foo.v1"}}
	next := v1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Name: "foo.v2"}}
	next.Spec.Replaces = "foo.v1"
	replacing := this
	replacing.Status.Phase = olm.CSVPhaseReplacing
	itself := this
	itself.Spec.Replaces = "foo.v1"
	cases := map[string]struct {
		reason string
		csv    v1alpha1.ClusterServiceVersion
		others []v1alpha1.ClusterServiceVersion
		want   bool
	}{
		"Alone":    {"Nothing replaces it.", this, []v1alpha1.ClusterServiceVersion{this}, false},
		"NextIs":   {"As soon as its successor is there.", this, []v1alpha1.ClusterServiceVersion{this, next}, true},
		"TheNext":  {"The successor itself is not.", next, []v1alpha1.ClusterServiceVersion{this, next}, false},
		"ByPhase":  {"OLM may set the phase first.", replacing, nil, true},
		"Nonsense": {"One that replaces itself is not taken at its word.", itself, []v1alpha1.ClusterServiceVersion{itself}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := BeingReplaced(&tc.csv, tc.others); got != tc.want {
				t.Errorf("%s\ngot %t", tc.reason, got)
			}
		})
	}
}
