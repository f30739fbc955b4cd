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
		"Alone":    {"A CSV without a successor is not being replaced.", this, []v1alpha1.ClusterServiceVersion{this}, false},
		"NextIs":   {"A CSV with a successor is being replaced.", this, []v1alpha1.ClusterServiceVersion{this, next}, true},
		"TheNext":  {"The successor is not being replaced.", next, []v1alpha1.ClusterServiceVersion{this, next}, false},
		"ByPhase":  {"A CSV in phase Replacing is being replaced, even before the successor is read.", replacing, nil, true},
		"Nonsense": {"A CSV that replaces itself is not being replaced.", itself, []v1alpha1.ClusterServiceVersion{itself}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := BeingReplaced(&tc.csv, tc.others); got != tc.want {
				t.Errorf("%s\ngot %t", tc.reason, got)
			}
		})
	}
}
