package hub

import (
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/open-cluster-management-io/work-rollback/pkg/connectivity"
)

// compareClocks reports differences between the machine's clock and the clock of a configuration's API server.
func (m *Manager) compareClocks(config *rest.Config) {
	connectivity.NewDifference(m.Clock, func(ahead time.Duration) {
		m.Metrics.ClockAhead(ahead)
		if ahead == 0 {
			klog.Background().Info("The clock of this machine agrees with the API server's")
			return
		}
		klog.Background().Error(nil, "The clock of this machine differs from the API server's: synchronize the clocks. After a restart or a "+
			"change of the leader, deadlines may fire earlier or later", "ahead", ahead.Round(time.Second))
	}).Watch(config)
}
