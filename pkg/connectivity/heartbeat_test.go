package connectivity

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clocktesting "k8s.io/utils/clock/testing"
)

// A machine that was suspended or migrated, and a clock that was set, show in two clocks that disagree (R11).
func TestJumped(t *testing.T) {
	for name, tc := range map[string]struct {
		wall, monotonic time.Duration
		want            bool
	}{
		"a beat in time":             {wall: time.Second, monotonic: time.Second},
		"a clock that is slewed":     {wall: 1001 * time.Millisecond, monotonic: time.Second},
		"a stopped process":          {wall: 10 * time.Second, monotonic: 10 * time.Second},
		"a suspended machine":        {wall: time.Hour, monotonic: time.Second, want: true},
		"a clock that is set ahead":  {wall: 4 * time.Second, monotonic: time.Second, want: true},
		"a clock that is set back":   {wall: -time.Hour, monotonic: time.Second, want: true},
		"a clock that is set back 3": {wall: -2 * time.Second, monotonic: time.Second, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, jumped(tc.wall, tc.monotonic))
		})
	}
}

// A process that did not run reports since when it runs again, and for how long it did not; the connection is none that began again (R11).
func TestConnectionNoticesAStall(t *testing.T) {
	begin := time.Unix(1000, 0)
	clk := clocktesting.NewFakePassiveClock(begin)
	connection := New(clk)
	pass := func(d time.Duration) { clk.SetTime(clk.Now().Add(d)) }
	pass(time.Hour)
	require.Zero(t, connection.LastStall(), "no heartbeat is expected yet")
	beat := func(seconds int) {
		for range seconds {
			connection.Beat()
			pass(time.Second)
		}
	}
	beat(100)
	pass(1900 * time.Millisecond)
	require.Zero(t, connection.LastStall(), "a busy machine")

	beat(1)
	pass(time.Minute)
	long := Stall{Ended: clk.Now(), Length: time.Minute + time.Second}
	require.Equal(t, long, connection.LastStall(), "before the next beat")
	beat(30)
	require.Equal(t, long, connection.LastStall())
	pass(3 * time.Second)
	require.Equal(t, long, connection.LastStall(), "a shorter one within the time after it changes nothing")

	beat(100)
	pass(3 * time.Second)
	connection.Beat()
	require.Equal(t, Stall{Ended: clk.Now(), Length: 4 * time.Second}, connection.LastStall(), "by the next beat")
	require.Equal(t, begin, connection.Since())
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
