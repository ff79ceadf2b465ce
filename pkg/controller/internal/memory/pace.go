package memory

import "time"

const (
	// restFactor is the wait before the next pass, as a multiple of the duration of the last one. It limits passes that
	// change nothing to a tenth of a core per ManifestWorkReplicaSet, however many agents report at once.
	restFactor = 10
	// maxRest is the maximum wait, so that the wait does not delay an abort.
	maxRest = time.Second
	// yieldInterval is the interval at which a pass that waits for other objects' aborts checks whether they have ended.
	yieldInterval = time.Second
	// maxYield is the maximum wait for aborts, so that consecutive aborts do not hold up a rollout forever.
	maxYield = 30 * time.Second
)

// Pace limits the number of passes that the events of a large fleet cause. Each agent's report is an event, but one
// pass processes all of them. After a pass that wrote, the next pass starts immediately, to continue its decisions. The
// first event after a quiet period also starts a pass immediately.
type Pace struct {
	until time.Time
	// yieldsSince is the time at which a pass began to wait for other objects' aborts; zero if it does not. passed is the
	// generation that has already waited.
	yieldsSince time.Time
	passed      int64
}

// Wait returns how long to wait before the next pass.
func (p *Pace) Wait(now time.Time) time.Duration {
	wait := p.until.Sub(now)
	if wait > maxRest { // The clock was set back.
		return 0
	}
	return wait
}

// Passed records a pass.
func (p *Pace) Passed(began, ended time.Time, wrote bool) {
	p.until = ended.Add(min(restFactor*ended.Sub(began), maxRest))
	if wrote {
		p.until = time.Time{}
	}
}

// Yield returns how long to wait before the next pass over an object that waits for other objects' aborts. Each generation waits once, for
// at most maxYield.
func (p *Pace) Yield(generation int64, aborting bool, now time.Time) time.Duration {
	switch {
	case p.passed == generation:
		return 0
	case !aborting, !p.yieldsSince.IsZero() && now.Sub(p.yieldsSince) >= maxYield:
		p.passed, p.yieldsSince = generation, time.Time{}
		return 0
	case p.yieldsSince.IsZero(), p.yieldsSince.After(now): // The clock was set back.
		p.yieldsSince = now
	}
	return yieldInterval
}
