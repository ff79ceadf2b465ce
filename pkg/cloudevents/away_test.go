package cloudevents

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic"
	sdkmetrics "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/metrics"
	eventtypes "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"
)

// countingCodec counts the encoded events.
type countingCodec struct {
	generic.Codec[*workv1.ManifestWork]
	encoded atomic.Int64
}

func (c *countingCodec) Encode(source string, kind eventtypes.CloudEventsType, work *workv1.ManifestWork) (*cloudevents.Event, error) {
	c.encoded.Add(1)
	return c.Codec.Encode(source, kind, work)
}

// While the broker is disconnected, a write fails at once, and no event is encoded for it.
func TestNothingIsEncodedWhileTheBrokerIsAway(t *testing.T) {
	r := newRig(t, nil)
	created := r.create(owned("c1", "v1"))
	codec := &countingCodec{Codec: r.codec}
	r.codec = codec
	require.True(t, r.Reachable())
	r.wire.errs <- errors.New("broken pipe")
	r.eventually("it is lost", func() bool { return !r.Reachable() })
	sent := r.wire.said()

	_, err := r.cluster("c2").Create(t.Context(), owned("c2", "v1"), metav1.CreateOptions{})
	require.True(t, apierrors.IsServiceUnavailable(err), err)
	_, err = r.patch(created, orphan)
	require.True(t, apierrors.IsServiceUnavailable(err), err)
	_, err = r.cluster("c1").Update(t.Context(), created, metav1.UpdateOptions{})
	require.True(t, apierrors.IsServiceUnavailable(err), err)
	err = r.cluster("c1").Delete(t.Context(), "web", metav1.DeleteOptions{})
	require.True(t, apierrors.IsServiceUnavailable(err), err)
	require.ErrorContains(t, err, "the broker is not connected")
	r.clock.Step(confirmAfter)
	again, err := answerTask{"c1"}.perform(t.Context(), r.Driver)
	require.NoError(t, err)
	require.Equal(t, answerInterval, again)

	require.Zero(t, codec.encoded.Load())
	require.Equal(t, sent, r.wire.said())
	require.Equal(t, created.Generation, r.store.get(created.UID).Generation)
	require.Equal(t, 1, r.refusals.counted("connected false"))
	require.Zero(t, r.refusals.counted("reconnected"))
}

// A task that fails because the broker is disconnected is retried after the reconnect. This failure is not an error of the work.
func TestTaskWaitsForTheBroker(t *testing.T) {
	r := newRig(t, nil)
	work := r.create(owned("c1", "v1"))
	r.wire.errs <- errors.New("broken pipe")
	r.eventually("it is lost", func() bool { return !r.Reachable() })
	ahead := work.DeepCopy()
	ahead.Generation += 1000
	event := r.wire.report(t, ahead)
	r.received(t.Context(), &event, "c1")
	r.eventually("the task waits", func() bool { return r.tasks.Len() == 0 && r.clock.HasWaiters() })
	require.Equal(t, work.Generation, r.store.get(work.UID).Generation)
	require.NoError(t, r.Connect(t.Context()))
	r.eventually("the work is sent again", func() bool {
		r.clock.Step(answerInterval)
		return r.store.get(work.UID).Generation > ahead.Generation
	})
	require.Equal(t, 1, r.refusals.counted("reconnected"))
}

// sdk-go's metrics have a label with the name of each cluster, and no endpoint exposes them. The hub has a few metrics of its own, and
// drops those of sdk-go.
func TestEventsAreCountedOnce(t *testing.T) {
	r := newRig(t, nil)
	const clusters = 20
	for i := range clusters {
		work := r.create(owned(fmt.Sprintf("c%d", i), "v1"))
		r.answers(work.UID)
		r.wire.asks(t, work.Namespace)
	}
	r.eventually("every question is answered", func() bool { return r.refusals.counted("sent resync_response") == clusters })
	r.eventually("every agent is asked", func() bool { return r.refusals.counted("sent resync_request") == clusters+1 })
	require.Equal(t, clusters, r.refusals.counted("sent create_request"))
	require.Equal(t, clusters, r.refusals.counted("received report"))
	require.Equal(t, clusters, r.refusals.counted("received question"))
	require.Equal(t, 1, r.refusals.counted("connected true"))
	require.Zero(t, collected(sdkmetrics.CloudeventsSentFromSourceCounterMetric.Collect))
	require.Zero(t, collected(sdkmetrics.CloudeventsReceivedBySourceCounterMetric.Collect))
}

// collected returns the number of metrics of a collector.
func collected[M any](collect func(chan<- M)) (n int) {
	metrics := make(chan M)
	go func() {
		defer close(metrics)
		collect(metrics)
	}()
	for range metrics {
		n++
	}
	return n
}

// Without a rate there is no limit: sdk-go's default of 50 per second does not apply.
func TestLimiter(t *testing.T) {
	accepted := func(qps float32) int {
		limiter, n := newLimiter(qps), 0
		for range 1000 {
			if limiter.TryAccept() {
				n++
			}
		}
		return n
	}
	require.Equal(t, 1000, accepted(0))
	require.Equal(t, 1, accepted(0.001))
	require.InDelta(t, 20, accepted(10), 2)
}
