package rollout

import "time"

// Stall is the last period in which this process did not run although its machine did.
type Stall struct {
	// Ended is when the process ran again, and Length is how long it had not run. Both are zero if there was no stall.
	Ended  time.Time
	Length time.Duration
}

// over returns the end of the stall plus its length, or plus a limit if that is shorter.
func (s Stall) over(limit time.Duration) time.Time { return s.Ended.Add(min(s.Length, limit)) }

// graceEnds returns when the agent of a cluster has had time to report: a limit after this process began to hear it, and after a stall only
// as long as the stall took. Otherwise a process that does not run for 3 s in every 100 s would never let a deadline fire (R11).
func (s *Snapshot) graceEnds(cluster string, limit time.Duration) time.Time {
	return later(s.deadlinesSince(cluster).Add(limit), s.Stall.over(limit))
}
