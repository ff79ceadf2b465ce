package hub

import (
	"time"

	"k8s.io/klog/v2"

	"github.com/open-cluster-management-io/work-rollback/pkg/connectivity"
)

// following returns a copy of the manager with a clock that follows the API server's, and that clock (R10).
func (m *Manager) following() (*Manager, *connectivity.Clock) {
	followed := *m
	hubClock := connectivity.NewClock(m.Clock, m.clockDiffers)
	followed.Clock = hubClock
	return &followed, hubClock
}

// clockDiffers logs how far the machine's clock is ahead of the API server's; 0 means that they agree again.
func (m *Manager) clockDiffers(ahead time.Duration) {
	if m.Metrics != nil {
		m.Metrics.ClockAhead(ahead)
	}
	if ahead == 0 {
		klog.Background().Info("The clock of this machine agrees with the API server's")
		return
	}
	klog.Background().Info("The clock of this machine differs from the API server's; the hub uses the API server's time until they agree; "+
		"synchronize the clocks", "ahead", ahead.Round(time.Second))
}
