package forecast_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/open-cluster-management-io/work-rollback/pkg/forecast"
)

// BenchmarkRun is the cost of one run over 1,000 clusters.
func BenchmarkRun(b *testing.B) {
	for name, fail := range map[string]float64{"complete": 0, "aborts": 0.05} {
		b.Run(name, func(b *testing.B) {
			in := progressive(1000, "10%", "2%", "10m")
			in.Agents.Fail = fail
			passes := 0
			for i := 0; b.Loop(); i++ {
				result, err := forecast.Run(in, i)
				require.NoError(b, err)
				passes += result.Passes
			}
			b.ReportMetric(float64(passes)/float64(b.N), "passes/run")
		})
	}
}
