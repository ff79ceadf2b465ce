package controller

import (
	"strings"
	"sync"

	"github.com/open-cluster-management-io/work-rollback/pkg/status"
)

// lane is a way through the queue and to the writers. Each has its own part of both, so that neither waits for what the other one does.
type lane int

// The lanes.
const (
	// rollouts is for all passes but those of the other lane.
	rollouts lane = iota
	// aborts is for passes that write works back (R12).
	aborts

	lanes
)

// turn is who wants to write. Within a lane the tenants take turns, and within a tenant its objects.
type turn struct {
	lane lane
	// key is the object's "namespace/name".
	key string
}

// tenantOf is whose an object is: everything in one namespace is one tenant's.
func tenantOf(key string) string {
	namespace, _, _ := strings.Cut(key, "/")
	return namespace
}

// aborting remembers which objects' aborts are being carried out, for when their status can't tell it.
type aborting struct {
	mu   sync.Mutex
	keys map[string]bool
}

func newAborting() *aborting { return &aborting{keys: map[string]bool{}} }

// note notes whether a pass left an abort to be carried out.
func (a *aborting) note(key string, is bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if is {
		a.keys[key] = true
	} else {
		delete(a.keys, key)
	}
}

func (a *aborting) is(key string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.keys[key]
}

// laneOf is the lane of the next pass over an object. An abort begins with a status that says so, and ends with one.
func (c *Controller) laneOf(key string) lane {
	if c.aborting.is(key) {
		return aborts
	}
	cached, exists, err := c.replicaSets.GetByKey(key)
	if err != nil || !exists {
		return rollouts
	}
	object := cached.(*replicaSet)
	if object.Status.AbortedTime != nil && object.DeletionTimestamp.IsZero() && status.Told(object.Status.Conditions) != status.Aborted {
		return aborts
	}
	return rollouts
}

// leavesAbort reports whether a pass leaves an abort to be carried out: it was decided, or works have yet to go back.
func (p *pass) leavesAbort() bool {
	decided := p.plan != nil && p.plan.Abort != nil
	begun := p.plan == nil && p.snapshot != nil && p.snapshot.Aborted
	return p.object.DeletionTimestamp.IsZero() && (decided || begun || p.aborting)
}
