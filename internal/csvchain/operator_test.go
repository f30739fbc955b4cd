package csvchain

import (
	"testing"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/operator-status/operator-status/internal/operator"
)

func TestVersion(t *testing.T) {
	cases := map[string]struct {
		reason string
		phase  olm.ClusterServiceVersionPhase
		want   string
	}{
		"Succeeded": {"The conditions of an operator that runs are up to date.", olm.CSVPhaseSucceeded, ""},
		"Replacing": {"A version keeps running while it is replaced.", olm.CSVPhaseReplacing, ""},
		"Failed":    {"A failed operator may have left outdated conditions.", olm.CSVPhaseFailed, "Failed"},
		"New":       {"A version without a phase has not started.", olm.CSVPhaseNone, "new"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := *Version(csv("foo.v1", "", tc.phase))
			want := operator.Version{Ref: operator.Ref{Kind: "ClusterServiceVersion", Namespace: "default", Name: "foo.v1"}, Phase: tc.want}
			if got != want {
				t.Errorf("%s\ngot %+v, want %+v", tc.reason, got, want)
			}
		})
	}
}

func TestRequest(t *testing.T) {
	if got := Request(nil); got != nil {
		t.Errorf("an operator without a Subscription has the request %+v", got)
	}
}
