package manager

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	"github.com/operator-status/operator-status/internal/messages"
)

// longestNote is the most bytes that the API server accepts in the note of an Event. It rejects a longer one, and the Event
// is lost.
const longestNote = 1024

// notes records Events whose notes are short enough, and on one line.
type notes struct{ recorder.EventRecorder }

func (n notes) Eventf(regarding, related runtime.Object, eventType, reason, action, note string, args ...any) {
	n.EventRecorder.Eventf(regarding, related, eventType, reason, action, "%s", noteOf(note, args))
}

func (n notes) AnnotatedEventf(regarding, related runtime.Object, annotations map[string]string, eventType, reason, action, note string, args ...any) {
	n.EventRecorder.AnnotatedEventf(regarding, related, annotations, eventType, reason, action, "%s", noteOf(note, args))
}

func noteOf(format string, args []any) string {
	return messages.Clip(messages.Line(fmt.Sprintf(format, args...)), longestNote)
}
