package simulation

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/open-cluster-management-io/work-rollback/internal/goldentest"
)

// overBroker changes the actions of a story for works that travel over a broker: only the hub can change or reject a work, and the network
// has the usual faults.
func (m *model) overBroker(actions map[string]func(*rapid.T)) {
	for _, action := range []string{"delete a work", "hand edit", "refusals", "adversary"} {
		delete(actions, action)
	}
	seconds := func(t *rapid.T, most int, what string) time.Duration {
		return time.Duration(rapid.IntRange(1, most).Draw(t, what)) * time.Second
	}
	cluster := rapid.SampledFrom(clusterNames)
	actions["an agent is cut off"] = func(t *rapid.T) { m.w.Network.CutAgent(cluster.Draw(t, "cluster"), seconds(t, 90, "for")) }
	actions["an agent is restarted"] = func(t *rapid.T) { m.w.Network.RestartAgent(cluster.Draw(t, "cluster")) }
	actions["the hub is cut off"] = func(t *rapid.T) { m.w.Network.CutHub(seconds(t, 90, "for"), seconds(t, 20, "notices after")) }
	actions["the hub is deaf"] = func(t *rapid.T) { m.w.Network.Deafen(seconds(t, 4, "for")) }
	actions["the broker is restarted"] = func(t *rapid.T) {
		// sdk-go's clients wait for up to two minutes before they retry.
		m.w.Network.RestartBroker(seconds(t, 60, "for"), seconds(t, 20, "notices after"), func(string) time.Duration { return seconds(t, 110, "returns after") })
	}
}

// delays are the delays of messages that do not arrive at once. They are shorter than an agent may take to answer.
var delays = []time.Duration{50 * time.Millisecond, 200 * time.Millisecond, 450 * time.Millisecond, 900 * time.Millisecond}

// fate returns the fate of a message in a network that loses, duplicates, delays and reorders messages.
func (m *model) fate(string) []time.Duration {
	switch fate := rapid.IntRange(0, 19).Draw(m.t, "fate"); {
	case fate < 12:
		return []time.Duration{0}
	case fate < 12+len(delays):
		return []time.Duration{delays[fate-12]}
	case fate < 18:
		return []time.Duration{0, rapid.SampledFrom(delays).Draw(m.t, "again after")}
	}
	return nil
}

// calm ends the faults of the network. The returned function lets them continue.
func (m *model) calm() (goOn func()) {
	n := m.w.Network
	if n == nil {
		return func() {}
	}
	fate := n.Fate
	n.Fate = nil
	return func() { n.Fate = fate }
}

// every gives a fate to the nth message of a kind, and none to all others.
func every(kind string, n int, fate ...time.Duration) func(string) []time.Duration {
	seen := 0
	return func(message string) []time.Duration {
		if strings.HasSuffix(message, kind) {
			if seen++; seen%n == 0 {
				return fate
			}
		}
		return []time.Duration{0}
	}
}

// overBroker begins a story whose works travel over a broker.
func overBroker(t *testing.T) *teller {
	t.Helper()
	s := checkedStory(t)
	s.OverBroker()
	return s
}

// TestStoriesOverBroker plays named stories whose works travel over a broker.
func TestStoriesOverBroker(t *testing.T) {
	for name, play := range map[string]func(*teller){
		"over a broker, abort in a network that loses and doubles": func(s *teller) {
			s.Network.Fate = every("request", 3, slices.Clone(delays[2:])...)
			s.stable(progressive("p1", 2, "30s", 0, true), "c1", "c2", "c3")
			s.Network.Fate = every("update_request", 4)
			s.hangs("v2", "c2")
			s.quiet()
			s.Network.Fate = nil
			s.Update("v3")
			s.quiet()
		},
		"over a broker, the hub restarts while an agent is offline": func(s *teller) {
			s.stable(progressive("p1", 1, "30s", 0, true), "c1", "c2", "c3")
			s.Network.CutAgent("c3", 5*time.Minute)
			s.Update("v2")
			s.settle(4 * time.Second)
			s.restarts()
			s.quiet()
			s.Network.RestartBroker(10*time.Second, 5*time.Second, func(cluster string) time.Duration {
				return map[string]time.Duration{"c1": time.Second, "c2": time.Minute, "c3": 110 * time.Second}[cluster]
			})
			s.Update("v3")
			s.quiet()
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := overBroker(t)
			play(s)
			goldentest.Equal(t, fileOf(name), s.story()+"\n")
		})
	}
}
