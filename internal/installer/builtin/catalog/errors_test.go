package catalog

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

func TestPermanent(t *testing.T) {
	for reason, want := range map[string]bool{
		v1alpha1.ReasonBundleInvalid: true, v1alpha1.ReasonTooLarge: true, v1alpha1.ReasonNotACatalog: true, v1alpha1.ReasonSpecInvalid: true,
		v1alpha1.ReasonUnreachable: false, v1alpha1.ReasonImagePullFailed: false,
	} {
		if got := AsError(Errorf(reason, "x"), "").Permanent(); got != want {
			t.Errorf("%s: permanent is %v", reason, got)
		}
	}
}

func TestMessagesAreStable(t *testing.T) {
	err := Errorf(v1alpha1.ReasonUnreachable, "get: read tcp 127.0.0.1:38282->127.0.0.1:5000:\n\tread: connection reset by peer")
	if diff := cmp.Diff("get: read tcp 127.0.0.1:5000: read: connection reset by peer", err.Error()); diff != "" {
		t.Errorf("The local port is removed, so the message is the same for every attempt.\n-want +got\n%s", diff)
	}
}
