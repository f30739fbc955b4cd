package manager

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/recorder"
)

// TestEventNotes verifies that the API server accepts each Event, whatever it quotes.
func TestEventNotes(t *testing.T) {
	fake := events.NewFakeRecorder(1)
	var r recorder.EventRecorder = notes{fake}
	r.Eventf(&corev1.Pod{}, nil, "Warning", "UpgradeOverridden", "Approve", "%s", "Foreign \x1b[2J\r\ntext %d "+strings.Repeat("ä", 2000))
	got := <-fake.Events
	note := strings.TrimPrefix(got, "Warning UpgradeOverridden ")
	if len(note) > longestNote || !strings.HasSuffix(note, "…") {
		t.Errorf("the note has %d bytes: %s", len(note), note)
	}
	if want := "Foreign \uFFFD[2J text %d ä"; !strings.HasPrefix(note, want) {
		t.Errorf("got %.40q; want %q", note, want)
	}
}
