package cloudevents

import (
	"errors"
	"testing"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestGetAfterAStall: a broker that stalls keeps its connections. When it continues, the agents need time to report. An agent that does not
// answer yet is not offline, and deadlines wait as after an outage. Later, silence counts again.
func TestGetAfterAStall(t *testing.T) {
	t.Parallel()
	for name, stall := range map[string]func(r *rig){
		"the question waits until the broker continues": func(r *rig) {
			r.wire.meanwhile(func(cloudevents.Event) { r.clock.Step(stallPatience) })
		},
		"an earlier event was not accepted": func(r *rig) {
			r.wire.meanwhile(func(cloudevents.Event) { r.clock.Step(sendPatience) })
			r.wire.fail(errors.New("context deadline exceeded"))
			_, err := r.cluster("c1").Get(t.Context(), "web", metav1.GetOptions{})
			require.True(t, apierrors.IsServiceUnavailable(err), "%v", err)
			r.wire.fail(nil)
			r.wire.meanwhile(func(cloudevents.Event) { r.clock.Step(time.Millisecond) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, nil)
			r.create(owned("c1", "v1"))
			before := len(r.connection.all())
			stall(r)
			_, err := r.cluster("c1").Get(t.Context(), "web", metav1.GetOptions{})
			require.True(t, apierrors.IsServiceUnavailable(err), "%v", err)
			require.ErrorContains(t, err, "the broker did not accept events for some time, and the agent of cluster c1")
			require.Equal(t, []string{"lost broker", "back broker 1m0s"}, r.connection.all()[before:before+2])

			r.wire.meanwhile(nil)
			r.clock.Step(stallPatience)
			got, err := r.cluster("c1").Get(t.Context(), "web", metav1.GetOptions{})
			require.NoError(t, err)
			require.False(t, confirmed(got))
		})
	}
}
