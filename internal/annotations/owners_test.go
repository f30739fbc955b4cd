package annotations

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestAwaitsOwner(t *testing.T) {
	now := time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC)
	cases := map[string]struct {
		reason string
		labels map[string]string
		age    time.Duration
		want   bool
	}{
		"New":   {"OLM creates a CustomResourceDefinition before the ClusterServiceVersion that owns it.", map[string]string{"olm.managed": "true"}, time.Second, true},
		"Left":  {"One that it left behind has no owner.", map[string]string{"olm.managed": "true"}, time.Hour, false},
		"Other": {"One that another program created never gets one.", nil, time.Second, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			crd := annotatedCRD("foos.example.com")
			crd.Labels, crd.CreationTimestamp = tc.labels, metav1.NewTime(now.Add(-tc.age))
			if got := AwaitsOwner(crd, now); got != tc.want {
				t.Errorf("%s\ngot %v", tc.reason, got)
			}
		})
	}
}
