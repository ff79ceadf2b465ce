package cloudevents

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
)

// reportTogether makes the agents of some clusters send a message within the same second.
func reportTogether(r *rush, clusters int) {
	for i := range clusters {
		r.note(fmt.Sprintf("cluster-%05d", i))
	}
}

// TestRush: if many clusters report within a second, that is a rush, for at most a minute. One agent alone does not cause a rush, however
// much it sends.
func TestRush(t *testing.T) {
	clk := clocktesting.NewFakeClock(noon)
	r := newRush(clk)
	require.False(t, r.excuses())
	for range 10 * rushClusters {
		r.note("c1")
	}
	reportTogether(r, rushClusters-2)
	require.False(t, r.excuses(), "c1 and the others are fewer than a rush")
	clk.Step(time.Second)
	reportTogether(r, rushClusters)
	require.True(t, r.excuses())
	clk.Step(rushPause)
	require.False(t, r.excuses(), "it is over")

	for began := clk.Now(); clk.Since(began) < rushMost; clk.Step(time.Second) {
		reportTogether(r, rushClusters)
		require.True(t, r.excuses())
	}
	reportTogether(r, rushClusters)
	require.False(t, r.excuses(), "it lasts for a minute")
}

// TestGetInARush: while many agents report at once, the answer from an agent may not have been read yet, so the hub decides nothing based
// on the state that it holds. After the rush, silence counts again.
func TestGetInARush(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.create(owned("c1", "v1"))
	reportTogether(r.rush, rushClusters)
	_, err := r.cluster("c1").Get(t.Context(), "web", metav1.GetOptions{})
	require.True(t, apierrors.IsServiceUnavailable(err), "%v", err)
	require.ErrorContains(t, err, "c1")

	r.clock.Step(rushPause)
	got, err := r.cluster("c1").Get(t.Context(), "web", metav1.GetOptions{})
	require.NoError(t, err)
	require.False(t, confirmed(got))
}
