package integration

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The broker stalls during a rollout: its connections stay open, and it accepts nothing. The new version starts to work on both clusters in
// that time, and the deadline passes. The broker then continues, the agents' reports are late, and the hub does not abort the rollout.
func TestCloudEventsBrokerStalls(t *testing.T) {
	t.Parallel()
	b := newMosquitto(t)
	f := newEventFleet(t, "mqtt-stall", "mqtt", b.sourceConfig(), b.agentConfig, &b.sent)
	const deadline = 20 * time.Second
	f.start(progressive(2, deadline.String(), 0, abortAll))
	// After the hub's start, reports may be late, too: wait until deadlines apply again.
	began := time.Now()
	eventually(t, "the time after the start has passed", func() error {
		if passed := time.Since(began); passed < agentReturn+deadline {
			return fmt.Errorf("only %s have passed", passed)
		}
		return nil
	})

	f.rollGated("v2")
	f.deploys(map[string]string{"c1": "v2", "c2": "v2"})
	b.signal(syscall.SIGSTOP)
	t.Cleanup(func() { b.signal(syscall.SIGCONT) })
	f.open("c1", "v2")
	f.open("c2", "v2")
	standing := func() error {
		if f.get().Status.AbortedTime != nil {
			return fmt.Errorf("aborted because the broker stalled: %s", describe(f.get()))
		}
		return nil
	}
	always(t, "the deadline passes", deadline+15*time.Second, standing)
	b.signal(syscall.SIGCONT)
	always(t, "there is no abort", 10*time.Second, standing)
	f.complete()
	require.Equal(t, f.hash("v2"), f.get().Status.CurrentRevision)
	f.quiet()
}
