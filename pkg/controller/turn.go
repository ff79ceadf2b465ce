package controller

import (
	"github.com/open-cluster-management-io/work-rollback/pkg/controller/internal/queue"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
)

// laneOf is the lane of the next pass over an object. An abort begins with a status that says so, and ends with one.
func (c *Controller) laneOf(key string) queue.Lane {
	if c.aborting.Is(key) {
		return queue.Aborts
	}
	cached, exists, err := c.replicaSets.GetByKey(key)
	if err != nil || !exists {
		return queue.Rollouts
	}
	object := cached.(*replicaSet)
	if object.Status.AbortedTime != nil && object.DeletionTimestamp.IsZero() && status.Told(object.Status.Conditions) != status.Aborted {
		return queue.Aborts
	}
	return queue.Rollouts
}

// leavesAbort reports whether a pass leaves an abort to be carried out: it was decided, or works have yet to go back.
func (p *pass) leavesAbort() bool {
	decided := p.plan != nil && p.plan.Abort != nil
	begun := p.plan == nil && p.snapshot != nil && p.snapshot.Aborted
	return p.object.DeletionTimestamp.IsZero() && (decided || begun || p.aborting)
}
