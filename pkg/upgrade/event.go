package upgrade

import (
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/open-cluster-management-io/work-rollback/pkg/status"
)

// event records an event.
func (r *Runner) event(regarding runtime.Object, eventType, reason, action, note string) {
	r.Recorder.Eventf(regarding, nil, eventType, reason, action, "%s", status.EventNote(note))
}
