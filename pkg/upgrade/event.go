package upgrade

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
)

// maxNote is what the API server takes of an event's note: 1024 bytes. A longer one would lose the event.
const maxNote = 1000

// event records an event, and logs it.
func (r *Runner) event(regarding runtime.Object, eventType, reason, action, note string) {
	if len(note) > maxNote {
		note = strings.ToValidUTF8(note[:maxNote], "") + " …"
	}
	klog.Background().Info("Event", "type", eventType, "reason", reason, "note", note)
	r.Recorder.Eventf(regarding, nil, eventType, reason, action, "%s", note)
}
