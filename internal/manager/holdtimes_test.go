package manager_test

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
)

// TestHoldTimes verifies that the API server accepts no time of an UpgradeHold that a client in Go cannot decode: it would hide all others
// from those that list them.
func TestHoldTimes(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, time string
		accepted     bool
	}{
		"UTC":         {"It is RFC 3339.", "2026-12-04T18:00:00Z", true},
		"Zone":        {"So is this.", "2026-12-04T18:00:00+01:00", true},
		"Fraction":    {"JavaScript prints milliseconds.", "2026-12-04T18:00:00.500Z", true},
		"Lowercase":   {"RFC 3339 allows it, but Go does not parse it.", "2026-12-04t18:00:00z", false},
		"ZoneBeyond":  {"No zone is that far.", "2026-12-04T18:00:00+99:99", false},
		"LeapSecond":  {"Go knows no leap seconds.", "2026-12-31T23:59:60Z", false},
		"WithoutZone": {"It is ambiguous.", "2026-12-04T18:00:00", false},
		"Date":        {"It is no time.", "2026-12-04", false},
	} {
		for _, field := range []string{"from", "until"} {
			t.Run(name+"/"+field, func(t *testing.T) {
				hold := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
					"operator": map[string]any{"installer": "Helm", "namespace": "default", "name": "timed"}, field: tc.time,
				}}}
				hold.SetGroupVersionKind(holdv1alpha1.GroupVersion.WithKind(holdv1alpha1.UpgradeHoldKind))
				hold.SetGenerateName("timed-")
				err := cluster.Client.Create(t.Context(), hold)
				if err == nil {
					t.Cleanup(func() {
						if err := cluster.Client.Delete(context.Background(), hold); err != nil {
							t.Error(err)
						}
					})
					if err := cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(hold), &holdv1alpha1.UpgradeHold{}); err != nil {
						t.Errorf("%s The API server accepts %s, but it cannot be decoded: %v", tc.reason, tc.time, err)
					}
				}
				if (err == nil) != tc.accepted {
					t.Errorf("%s %s is accepted: %t, %v", tc.reason, tc.time, err == nil, err)
				}
			})
		}
	}
}
