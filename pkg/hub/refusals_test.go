package hub

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/open-cluster-management-io/work-rollback/pkg/cloudevents"
	"github.com/open-cluster-management-io/work-rollback/pkg/metrics"
)

// Every reason for which the driver drops an event has a counter that begins at 0.
func TestEachRefusalIsCounted(t *testing.T) {
	reasons := make([]string, 0, len(cloudevents.Refusals))
	for _, refusal := range cloudevents.Refusals {
		reasons = append(reasons, string(refusal))
	}
	require.ElementsMatch(t, metrics.EventRefusals, reasons)
}
