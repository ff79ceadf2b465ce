package dashboard

import (
	"context"
	"encoding/json"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/intstr"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"
)

// model1m is a model of the agents that the page sends.
const model1m = `{"applySeconds":60,"spread":0.5,"seed":1}`

// simulation sends a request for a simulation until the context ends. The channel has the status of the answer; 0 if there is none.
func (s *served) simulation(ctx context.Context, name string) <-chan int {
	request := s.newRequest(ctx, http.MethodPost, "/api/sets/default/"+name+"/simulate", model1m)
	status := make(chan int, 1)
	go func() {
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			status <- 0
			return
		}
		status <- answer.StatusCode
		_ = answer.Body.Close()
	}()
	return status
}

// inProgress waits until a number of simulations is in progress.
func (s *served) inProgress(n int) {
	s.t.Helper()
	require.Eventually(s.t, func() bool { return len(s.simulating) == n }, time.Minute, time.Millisecond)
}

// Four simulations run at once. The next one is refused at once. One that ends makes room, and so does one whose client goes away.
func TestSimulationsAreBounded(t *testing.T) {
	var late atomic.Int64
	began := time.Now()
	s := serve(t, Options{Now: func() time.Time { return began.Add(time.Duration(late.Load())) }})
	long := fleetOf(1_000) // One cluster at a time: a run takes longer than the test, because its clock stands still.
	long.ReplicaSet.Spec.PlacementRefs[0].RolloutStrategy.Type = clusterv1alpha1.Progressive
	long.ReplicaSet.Spec.PlacementRefs[0].RolloutStrategy.Progressive = &clusterv1alpha1.RolloutProgressive{MaxConcurrency: intstr.FromInt32(1)}
	s.hub.set(long, nil)

	leaving, leave := context.WithCancel(t.Context())
	left := s.simulation(leaving, "web")
	var stay []<-chan int
	for range mostSimulations - 1 {
		stay = append(stay, s.simulation(t.Context(), "web"))
	}
	s.inProgress(mostSimulations)
	refused := s.request(http.MethodPost, "/api/sets/default/web/simulate", model1m)
	require.Equal(t, http.StatusTooManyRequests, refused.StatusCode)
	var problem struct{ Error string }
	require.NoError(t, json.NewDecoder(refused.Body).Decode(&problem))
	require.Equal(t, "several simulations are in progress: try again when one has ended", problem.Error)

	leave()
	require.Zero(t, <-left)
	s.inProgress(mostSimulations - 1)
	stay = append(stay, s.simulation(t.Context(), "web"))
	s.inProgress(mostSimulations)

	late.Store(int64(time.Minute))
	for _, status := range stay {
		require.NotEqual(t, http.StatusTooManyRequests, <-status)
	}
	s.inProgress(0)
	s.hub.set(fleetOf(3), nil)
	require.Equal(t, http.StatusOK, <-s.simulation(t.Context(), "other"))
}
