package upgrade

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"

	"github.com/open-cluster-management-io/work-rollback/pkg/status"
)

// event records an event, and logs it.
func (r *Runner) event(regarding runtime.Object, eventType, reason, action, note string) {
	note = status.EventNote(note)
	klog.Background().Info("Event", "type", eventType, "reason", reason, "note", note)
	r.Recorder.Eventf(regarding, nil, eventType, reason, action, "%s", note)
}
