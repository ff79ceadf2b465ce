package simulation

import (
	"testing"
	"time"
)

// The clock of an agent was ahead, and the agent restarts with the correct time. The hub still accepts its reports, so its success does not
// count as a failure.
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
