package cloudevents

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// answerPatience is how long an agent may take to answer before it counts as offline. Agents that are connected answer within a moment. An abort
// that an agent is asked for first is late by this much where that agent is offline.
const answerPatience = 3 * time.Second

// expectReport returns a channel that is closed when the next report of a work comes. The caller has to call forget.
func (d *Driver) expectReport(uid types.UID) (answered <-chan struct{}, forget func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	next := d.expected[uid]
	if next == nil {
		next = make(chan struct{})
		d.expected[uid] = next
	}
	return next, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.expected[uid] == next {
			delete(d.expected, uid)
		}
	}
}

// awaitReport waits for the answer of an agent, for as long as one that is connected may take. A broker can lose a report, and an agent that
// answers one question while it reports something else can send the older of the two last: what the hub holds then is not what the agent
// says when it is asked again (R11).
func (d *Driver) awaitReport(ctx context.Context, answered <-chan struct{}) {
	patience := time.NewTimer(answerPatience)
	defer patience.Stop()
	select {
	case <-answered:
	case <-patience.C:
	case <-ctx.Done():
	}
}
