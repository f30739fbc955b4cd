package manager

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

func TestHoldEvents(t *testing.T) {
	sub := func(uid types.UID, held corev1.ConditionStatus) *v1alpha1.Subscription {
		out := &v1alpha1.Subscription{}
		out.UID, out.Status.CurrentCSV = uid, "foo.v2"
		if held != "" {
			out.Status.Conditions = []v1alpha1.SubscriptionCondition{{
				Type: v1alpha1.SubscriptionUpgradeHeld, Status: held, Message: "The update to foo.v2 is held",
			}}
		}
		return out
	}
	cases := map[string]struct {
		reason        string
		before, after *v1alpha1.Subscription
		follows       bool // whether another replica leads
		want          string
	}{
		"Begins":    {"A hold that begins is an Event with its message.", sub("a", ""), sub("a", "True"), false, "Normal UpgradeHeld The update to foo.v2 is held"},
		"GoesOn":    {"A hold that goes on is none.", sub("a", "True"), sub("a", "True"), false, ""},
		"Ends":      {"A hold that ends is an Event.", sub("a", "True"), sub("a", "False"), false, "Normal UpgradeReleased The update to foo.v2 is no longer held"},
		"Gone":      {"A hold whose condition is removed ends.", sub("a", "True"), sub("a", ""), false, "Normal UpgradeReleased The update to foo.v2 is no longer held"},
		"Never":     {"Without a hold nothing is emitted.", sub("a", ""), sub("a", "False"), false, ""},
		"Recreated": {"Another Subscription of the same name did not release the update of the first.", sub("a", "True"), sub("b", ""), false, ""},
		"Follower":  {"Only the replica that leads emits Events.", sub("a", ""), sub("a", "True"), true, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			recorder, leading := events.NewFakeRecorder(1), make(chan struct{})
			if !tc.follows {
				close(leading)
			}
			holdEvents{recorder, leading}.emit(tc.before, tc.after)
			close(recorder.Events)
			if diff := cmp.Diff(tc.want, <-recorder.Events); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
