package simulation

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	cloudeventstypes "github.com/cloudevents/sdk-go/v2/types"
	eventtypes "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"
)

// Network carries works and reports over a simulated broker, between the hub's real CloudEvents driver and agents that keep the works in
// sdk-go's own store. Messages are delayed, reordered, duplicated or lost. Either side, or the broker, can disconnect and return.
type Network struct {
	world *World
	// Fate decides the fate of a message: the delays after which its copies arrive. An empty list means that the message is lost. If Fate is
	// nil, each message arrives once, and at once.
	Fate func(message string) []time.Duration

	hub    hubEnd
	agents map[string]*agentEnd
	// flight are the messages in transit, the next one first.
	flight []message
	// back is the time at which the broker returns.
	back time.Time
	// truth is true while a message that corrects a false report is sent. Such a message is not lost (R10 waits for it only for
	// --success-settle).
	truth bool
	// lost is the time at which a message was last lost, by direction and cluster.
	lost map[string]time.Time
	// agentsDue is the time at which an agent has something to do. moved is true if it may be earlier.
	agentsDue time.Time
	moved     bool
	// reports counts the reports from agents, and sequence counts their messages.
	reports, sequence int64
	// asked holds the state at the time when the hub last requested the works of an agent.
	asked map[string]question
}

// message is in transit to the agent of a cluster, or to the hub if the cluster is empty.
type message struct {
	cluster string
	at      time.Time
	event   cloudevents.Event
}

// lossInterval is the minimum time between two losses for one cluster and one direction. A network that delivers nothing until the next
// retry is disconnected.
const lossInterval = 30 * time.Second

// OverBroker makes works travel over a broker, from the start of the world.
func (w *World) OverBroker() {
	w.Network = &Network{world: w, agents: map[string]*agentEnd{}, lost: map[string]time.Time{}, asked: map[string]question{}}
	w.Network.hub.network = w.Network
	w.Restart()
}

func (n *Network) now() time.Time { return n.world.Clock.Now() }

// toAgents accepts an event from the hub for one agent, or for all.
func (n *Network) toAgents(event cloudevents.Event) {
	cluster, _ := cloudeventstypes.ToString(event.Extensions()[eventtypes.ExtensionClusterName])
	if cluster != eventtypes.ClusterAll {
		n.agent(cluster)
		n.send("to "+cluster, cluster, event)
		return
	}
	for _, name := range n.clusters() {
		n.send("to "+name, name, event)
	}
}

// toHub accepts an event from an agent, and reports whether the broker accepted it.
func (n *Network) toHub(a *agentEnd, event cloudevents.Event) bool {
	if !a.connected {
		return false
	}
	n.send("from "+a.cluster, "", event)
	return true
}

// send puts a message in transit.
func (n *Network) send(direction, cluster string, event cloudevents.Event) {
	delays := []time.Duration{0}
	if n.Fate != nil {
		kind, _ := eventtypes.ParseCloudEventsType(event.Type())
		what := fmt.Sprintf("%s: %s %s", direction, kind.SubResource, kind.Action)
		delays = n.Fate(what)
		if len(delays) == 0 && n.lose(direction, what) {
			return
		}
	}
	if len(delays) == 0 {
		delays = []time.Duration{0}
	}
	for _, delay := range delays {
		m := message{cluster: cluster, at: n.now().Add(delay), event: event.Clone()}
		i, _ := slices.BinarySearchFunc(n.flight, m.at, func(other message, at time.Time) int {
			if other.at.After(at) {
				return 1
			}
			return -1
		})
		n.flight = slices.Insert(n.flight, i, m)
	}
}

// lose loses a message, if it may be lost.
func (n *Network) lose(direction, what string) bool {
	if at, before := n.lost[direction]; n.truth || before && n.now().Sub(at) < lossInterval {
		return false
	}
	n.lost[direction] = n.now()
	n.world.Tell("network: loses a message %s", what)
	return true
}

// drop loses all messages in transit to an agent, or to the hub.
func (n *Network) drop(cluster string) {
	n.flight = slices.DeleteFunc(n.flight, func(m message) bool { return m.cluster == cluster })
}

// deliver delivers the messages that are due.
func (n *Network) deliver() (acted bool) {
	for len(n.flight) > 0 && !n.flight[0].at.After(n.now()) {
		m := n.flight[0]
		n.flight = n.flight[1:]
		acted = true
		if m.cluster == "" {
			n.hub.arrive(m.event)
		} else if a := n.agent(m.cluster); a.connected {
			a.receive(m.event)
			n.moved = true
		}
	}
	return acted
}

// step performs the tasks that are due, except the passes of the controller. If there are none, it returns the time at which the next one
// is due; zero for never.
func (n *Network) step() (acted bool, next time.Time) {
	acted = n.hub.turn()
	for _, cluster := range n.clusters() {
		acted = n.agent(cluster).turn() || acted
	}
	acted = n.deliver() || acted
	if n.moved || n.world.agentsSaw == 0 || !n.agentsDue.IsZero() && !n.agentsDue.After(n.now()) {
		n.moved, n.world.agentsSaw = false, 1
		sent := n.sequence
		n.agentsDue = n.runAgents()
		acted = acted || n.sequence != sent
	}
	acted = n.hub.read() || acted
	if acted {
		return true, time.Time{}
	}
	return false, n.next()
}

// next returns the time at which the next event happens by itself.
func (n *Network) next() time.Time {
	times := []time.Time{n.agentsDue, n.hub.next()}
	if len(n.flight) > 0 {
		times = append(times, n.flight[0].at)
	}
	for _, a := range n.agents {
		if !a.connected {
			times = append(times, later(a.back, n.back))
		}
	}
	return earliest(times...)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// earliest returns the earliest of some times, and ignores zero times.
func earliest(times ...time.Time) time.Time {
	var first time.Time
	for _, t := range times {
		if !t.IsZero() && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	return first
}

// await lets the world continue while the hub waits for something, for at most a given time. It reports whether that has happened.
func (n *Network) await(_ context.Context, patience time.Duration, done func() bool) bool {
	until := n.now().Add(patience)
	for range tooMany {
		if done() {
			return true
		}
		acted, next := n.step()
		switch {
		case acted:
		case next.IsZero() || next.After(until):
			n.world.Clock.SetTime(until)
			return done()
		default:
			n.world.Clock.SetTime(next)
		}
	}
	panic("the network never rests\n" + strings.Join(n.world.Story, "\n"))
}

// RestartBroker stops the broker for a time. Messages in transit are lost. The hub notices after a while. Each agent reconnects later than
// the broker, as its patience determines.
func (n *Network) RestartBroker(during, notice time.Duration, patience func(cluster string) time.Duration) {
	if n.world.lying() {
		return
	}
	n.world.Tell("network: the broker is away for %s, which the hub notices after %s", during, notice)
	n.flight, n.back = nil, n.now().Add(during)
	n.hub.lose(during, notice)
	for _, cluster := range n.clusters() {
		n.agents[cluster].lose(during + patience(cluster))
	}
}

// CutHub ends the connection of the hub for a time.
func (n *Network) CutHub(during, notice time.Duration) {
	if n.world.lying() {
		return
	}
	n.world.Tell("network: the hub is cut off for %s, which it notices after %s", during, notice)
	n.hub.lose(during, notice)
}

// CutAgent ends the connection of an agent for a time.
func (n *Network) CutAgent(cluster string, during time.Duration) {
	if n.world.lying() {
		return
	}
	n.world.Tell("network: the agent of %s is cut off for %s", cluster, during)
	n.agent(cluster).lose(during)
}

// Deafen makes the hub stop reading messages for a time.
func (n *Network) Deafen(during time.Duration) {
	if n.world.lying() {
		return
	}
	n.world.Tell("network: the hub reads nothing for %s", during)
	n.hub.deaf = n.now().Add(during)
}
