package simulation

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// tooMany is the maximum number of steps until a world is quiet: more steps mean a hot loop.
const tooMany = 4000

// Settle runs the world until nothing more happens by itself, or for a time. It fails on an endless loop.
func (w *World) Settle(during time.Duration) error {
	until := w.Clock.Now().Add(during)
	if w.Network != nil && during == Forever {
		until = w.Clock.Now().Add(forLong) // Messages without an answer are resent forever.
	}
	for range tooMany {
		acted, next := w.step()
		if w.violation != nil {
			return w.violation
		}
		if acted {
			continue
		}
		if next.IsZero() || next.After(until) {
			if during != Forever && until.After(w.Clock.Now()) {
				w.Clock.SetTime(until)
			}
			return nil
		}
		w.Clock.SetTime(next)
	}
	return fmt.Errorf("not quiet after %d steps: the hub's next look is at %s, the agents' at %s", tooMany, w.again, w.agentsDue)
}

// Forever makes Settle run until nothing more happens by itself.
const Forever = 1000 * time.Hour

// forLong replaces Forever if works travel over a broker. No decision takes that long.
const forLong = time.Hour

// stepAgents performs the tasks outside the hub that are due. If there are none, it returns the time at which the next one is due; zero for
// never.
func (w *World) stepAgents() (acted bool, next time.Time) {
	if w.Network != nil {
		return w.Network.step()
	}
	if w.API.version != w.agentsSaw || (!w.agentsDue.IsZero() && !w.agentsDue.After(w.Clock.Now())) {
		before := w.API.version
		w.agentsDue = w.runAgents()
		w.setGates()
		acted = w.API.version != before
		w.agentsSaw = before
	}
	return acted, w.agentsDue
}

// step performs the tasks that are due. If there are none, it returns the time at which the next one is due; zero for
// never.
func (w *World) step() (acted bool, next time.Time) {
	acted, next = w.stepAgents()
	if w.Away {
		return acted, next
	}
	if !w.Hub.restored() {
		return acted, earliest(next, w.Clock.Now().Add(restoreInterval))
	}
	if waiting := w.Hub.Behind(); waiting > 0 {
		n := waiting
		if w.Lag != nil {
			n = min(waiting, max(0, w.Lag(waiting)))
		}
		if n > 0 {
			w.Hub.Observe(n)
			w.due = true
		}
		acted = true
	}
	if !w.again.IsZero() && !w.again.After(w.Clock.Now()) {
		w.due = true
	}
	if !w.due {
		if !w.again.IsZero() && (next.IsZero() || w.again.Before(next)) {
			next = w.again
		}
		return acted, next
	}
	w.sync()
	return true, time.Time{}
}

// sync makes one pass of the hub, and starts a new process if the process died.
func (w *World) sync() {
	w.due, w.again = false, time.Time{}
	w.forgetLostFacts()
	w.forgetRetriedFacts()
	again, dead, err := w.Hub.Sync(context.Background(), Namespace+"/"+Name)
	w.between()
	w.noteOverdue(w.Object()) // A pass that fails, or dies, may have recorded a failure.
	if !dead && err == nil {
		w.noteFacts()
	}
	switch {
	case dead:
		w.Tell("the hub died, and starts again")
		w.Restart()
	case err != nil:
		text, _, _ := strings.Cut(err.Error(), ", request ") // The number of the request does not matter.
		if text != w.lastErr {
			w.lastErr = text
			w.Tell("the pass fails: %s", text)
		}
		// As in the queue's rate limiter, a persistent error is retried less and less often.
		w.again = w.Clock.Now().Add(5 * time.Second)
	case again > 0:
		w.again = w.Clock.Now().Add(again)
	}
}
