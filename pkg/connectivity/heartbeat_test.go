package connectivity

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clocktesting "k8s.io/utils/clock/testing"
)

// A machine that was suspended, migrated or stopped missed what the agents reported, though no request failed (R11).
func TestInterrupted(t *testing.T) {
	for name, tc := range map[string]struct {
		wall, monotonic time.Duration
		want            bool
	}{
		"a beat in time":             {wall: time.Second, monotonic: time.Second},
		"a busy machine":             {wall: 2900 * time.Millisecond, monotonic: 2900 * time.Millisecond},
		"a clock that is slewed":     {wall: 1001 * time.Millisecond, monotonic: time.Second},
		"a stopped process":          {wall: 10 * time.Second, monotonic: 10 * time.Second, want: true},
		"a suspended machine":        {wall: time.Hour, monotonic: time.Second, want: true},
		"a clock that is set ahead":  {wall: 4 * time.Second, monotonic: time.Second, want: true},
		"a clock that is set back":   {wall: -time.Hour, monotonic: time.Second, want: true},
		"a clock that is set back 3": {wall: -2 * time.Second, monotonic: time.Second, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, interrupted(tc.wall, tc.monotonic))
		})
	}
}

// After an interruption the agents get time to report. A decision that comes before the next beat knows of the interruption as well.
func TestConnectionNoticesAnInterruption(t *testing.T) {
	begin := time.Unix(1000, 0)
	clk := clocktesting.NewFakePassiveClock(begin)
	connection := New(clk)
	pass := func(d time.Duration) { clk.SetTime(clk.Now().Add(d)) }
	pass(time.Hour)
	require.Equal(t, begin, connection.Since(), "no heartbeat is expected yet")

	for range 100 {
		connection.Beat()
		pass(time.Second)
	}
	require.Equal(t, begin, connection.Since())

	pass(time.Minute)
	resumed := clk.Now()
	require.Equal(t, resumed, connection.Since(), "before the next beat")
	for range 100 {
		connection.Beat()
		pass(time.Second)
	}
	require.Equal(t, resumed, connection.Since())

	pass(time.Minute)
	connection.Beat()
	require.Equal(t, clk.Now(), connection.Since(), "by the next beat")
}

// A clock that was set back makes no deadline wait for the old time to come again.
func TestConnectionWithAClockThatIsSetBack(t *testing.T) {
	clk := clocktesting.NewFakePassiveClock(time.Unix(10000, 0))
	connection := New(clk)
	connection.Beat()
	connection.Lost("broker")
	connection.Back("broker", time.Minute)
	require.Equal(t, clk.Now().Add(time.Minute), connection.Since())
	clk.SetTime(time.Unix(5000, 0))
	connection.Beat()
	require.Equal(t, time.Unix(5060, 0), connection.Since())
}

// A heartbeat begins at once, and ends with its context.
func TestKeepBeating(t *testing.T) {
	connection := New(clocktesting.NewFakePassiveClock(time.Unix(1000, 0)))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		connection.KeepBeating(ctx)
		close(done)
	}()
	require.Eventually(t, func() bool {
		connection.mu.Lock()
		defer connection.mu.Unlock()
		return !connection.beat.IsZero()
	}, time.Minute, time.Millisecond)
	cancel()
	<-done
}
