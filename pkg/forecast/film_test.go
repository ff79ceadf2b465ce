package forecast_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/open-cluster-management-io/work-rollback/pkg/forecast"
)

// A film is the run that Run plays, and it ends with the scenes of its outcome.
func TestFilm(t *testing.T) {
	for name, fail := range map[string]float64{"complete": 0, "aborted": 1} {
		t.Run(name, func(t *testing.T) {
			in := progressive(20, "5", "0", "5m")
			in.Agents.Fail = fail
			want, err := forecast.Run(in, 3)
			require.NoError(t, err)
			got, frames, err := forecast.Film(in, 3, func() bool { return true })
			require.NoError(t, err)
			require.Equal(t, want, got)
			scenes, seen := map[int]forecast.Scene{}, map[forecast.Scene]bool{}
			for i := range frames {
				require.True(t, i == 0 || frames[i].At >= frames[i-1].At)
				for k, cluster := range frames[i].Clusters {
					require.NotEqual(t, scenes[cluster], frames[i].Scenes[k], "a frame has changes only")
					scenes[cluster] = frames[i].Scenes[k]
					seen[frames[i].Scenes[k]] = true
				}
			}
			for cluster, scene := range scenes {
				require.Equal(t, forecast.SceneSucceeded, scene, "cluster %d", cluster)
			}
			require.Equal(t, fail > 0, seen[forecast.SceneRestoring])
		})
	}
}
