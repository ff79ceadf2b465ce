package simulation

import (
	"testing"
	"time"
)

// An agent whose clock was ahead and that restarts with the correct time is still heard: its success does not count as a failure.
func TestAgentWithTheRightClockAtLast(t *testing.T) {
	s := overBroker(t)
	s.Place("p1", []string{"c1", "c2"})
	s.AgentsAhead = map[string]time.Duration{"c2": 8 * time.Hour}
	s.Create("v1", all("p1", "30s", true))
	s.quiet()
	s.settle(10 * time.Minute)
	s.AgentsAhead = nil
	s.Network.RestartAgent("c2")
	s.settle(time.Minute)
	s.Update("v2")
	s.settle(5 * time.Minute)
	s.reaches("v2")
	s.quiet()
}
