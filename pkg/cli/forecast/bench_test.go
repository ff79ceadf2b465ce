package forecast_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/open-cluster-management-io/work-rollback/pkg/cli/forecast"
)

// BenchmarkRuns measures the cost of one of many runs over 1,000 clusters, on one core.
func BenchmarkRuns(b *testing.B) {
	for name, fail := range map[string]float64{"complete": 0, "aborts": 0.05} {
		b.Run(name, func(b *testing.B) {
			in := progressive(1000, "10%", "2%", "10m")
			in.Agents.Fail = fail
			b.ReportAllocs()
			results, err := forecast.Runs(in, b.N, 1, func() bool { return true }, func() bool { return true })
			require.NoError(b, err)
			passes := 0
			for i := range results {
				passes += results[i].Passes
			}
			b.ReportMetric(float64(passes)/float64(b.N), "passes/run")
		})
	}
}
