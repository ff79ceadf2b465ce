package connectivity

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clocktesting "k8s.io/utils/clock/testing"
)

// If a machine was suspended or migrated, or if its clock was set, the wall clock and the monotonic clock disagree.
func TestSilence(t *testing.T) {
	for name, tc := range map[string]struct {
		wall, monotonic, want time.Duration
		set                   bool
	}{
		"a heartbeat on time":       {wall: time.Second, monotonic: time.Second, want: time.Second},
		"a clock that is slewed":    {wall: 1100 * time.Millisecond, monotonic: time.Second, want: 1100 * time.Millisecond},
		"a stopped process":         {wall: 10 * time.Second, monotonic: 10 * time.Second, want: 10 * time.Second},
		"stopped for a long time":   {wall: time.Hour, monotonic: time.Hour, want: unknown},
		"a suspended machine":       {wall: time.Hour, monotonic: time.Second, want: unknown, set: true},
		"a clock that is set ahead": {wall: 6 * time.Second, monotonic: time.Second, want: unknown, set: true},
		"by less than a gap":        {wall: 5 * time.Second, monotonic: time.Second, want: 5 * time.Second},
		"a clock that is set back":  {wall: -time.Hour, monotonic: time.Second, want: unknown, set: true},
		"by two seconds":            {wall: -time.Second, monotonic: time.Second, want: unknown, set: true},
		"in a stop":                 {wall: time.Second, monotonic: 10 * time.Second, want: unknown, set: true},
	} {
		t.Run(name, func(t *testing.T) {
			got, set := silence(tc.wall, tc.monotonic)
			require.Equal(t, tc.want, got)
			require.Equal(t, tc.set, set)
		})
	}
}

// After a stop, a process knows when it resumed, and for how long it did not run.
func TestGapOfTheProcess(t *testing.T) {
	clk := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
	unbeaten := New(clk)
	clk.SetTime(time.Unix(9000, 0))
	_, gap := unbeaten.Look()
	require.Equal(t, Gap{End: time.Unix(1000, 0), Length: unknown}, gap, "no heartbeat is expected yet")

	r := newRig(t)
	stop := func(d time.Duration) { r.clk.SetTime(r.clk.Now().Add(d)) }
	r.pass(1000)
	stop(4900 * time.Millisecond)
	r.was(1000, unknown, "a busy machine")
	stop(100 * time.Millisecond)
	r.pass(995)
	stop(time.Minute)
	r.was(3060, time.Minute, "before the next beat")
	r.pass(30)
	r.was(3060, time.Minute)
	stop(6 * time.Second)
	r.was(3096, 24*time.Second, "a shorter gap soon after it does not shorten the wait")
	r.pass(100)
	stop(6 * time.Second)
	r.Beat()
	r.was(3202, 6*time.Second, "by the next beat")
}

// If the clock is set back, deadlines do not wait until the clock reaches the old time again.
func TestGapByAClockThatIsSetBack(t *testing.T) {
	r := newRig(t)
	r.Lost("broker")
	r.Back("broker", time.Minute)
	r.clk.SetTime(time.Unix(500, 0))
	r.was(500, unknown)
}

// A heartbeat starts at once, and ends with its context.
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
