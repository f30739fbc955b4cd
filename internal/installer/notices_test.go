package installer

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/operator"
)

func TestNoticesOf(t *testing.T) {
	condition := func(kind string, status metav1.ConditionStatus) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status, Reason: "Why"}
	}
	cases := map[string]struct {
		reason     string
		conditions []metav1.Condition
		want       []string
	}{
		"None":      {reason: "A Probe without conditions has none."},
		"Important": {reason: "Authors mark conditions as important.", conditions: []metav1.Condition{condition("Important", "True")}, want: []string{"Important"}},
		"Neither": {
			reason: "Other conditions are no notices.", conditions: []metav1.Condition{condition("Important", "False"), condition("Upgradeable", "True")},
		},
		"Both": {
			reason:     "The Probe uses other annotations than there are.",
			conditions: []metav1.Condition{condition("AnnotationsDiffer", "True"), condition("Important", "True")},
			want:       []string{"Important", "AnnotationsDiffer"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			probe := &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Namespace: "foo", Name: "foo.v1"}}
			for _, c := range tc.conditions {
				c.Message = c.Type
				probe.Status.Conditions = append(probe.Status.Conditions, c)
			}
			var got []string
			for _, b := range NoticesOf(probe) {
				got = append(got, b.Cause)
				if b.Impact != operator.Notice || b.By != "Probe foo/foo.v1" || b.Reason != "Why" {
					t.Errorf("%s\ngot %+v", tc.reason, b)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
	if got := NoticesOf(nil); got != nil {
		t.Errorf("without a Probe: got %v", got)
	}
}
