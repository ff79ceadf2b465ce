package memory

import (
	"sync"
	"time"
)

const (
	// restFactor is the wait before the next pass, as a multiple of the duration of the last one. Passes that change nothing take at most a
	// tenth of a core for each ManifestWorkReplicaSet, however many agents report at once.
	restFactor = 10
	// maxRest is the maximum wait, so that the wait does not delay an abort.
	maxRest = time.Second
	// yieldInterval is how often a pass that waits for other objects' aborts checks whether they have ended.
	yieldInterval = time.Second
	// maxYield is the maximum wait for aborts, so that consecutive aborts do not hold up a rollout forever.
	maxYield = 30 * time.Second
)

// Pace limits the passes that the events of a large fleet lead to: each agent's report is an event, but one pass sees them all. A pass
// that wrote is followed by the next one at once, which continues its decisions. The first event after a quiet time also leads to a pass
// at once.
type Pace struct {
	mu       sync.Mutex
	until    map[string]time.Time
	yielding map[string]yielding
}

// yielding is how long a pass has waited for other objects' aborts.
type yielding struct {
	// since is when it began to wait; zero if it does not.
	since time.Time
	// passed is the generation that waits no longer.
	passed int64
}

// NewPace returns one that makes nobody wait.
func NewPace() *Pace { return &Pace{until: map[string]time.Time{}, yielding: map[string]yielding{}} }

// Wait returns how long to wait before the next pass over a key.
func (p *Pace) Wait(key string, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	wait := p.until[key].Sub(now)
	if wait > maxRest { // The clock was set back.
		return 0
	}
	return wait
}

// Passed notes a pass.
func (p *Pace) Passed(key string, began, ended time.Time, wrote bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if wrote {
		delete(p.until, key)
		return
	}
	p.until[key] = ended.Add(min(restFactor*ended.Sub(began), maxRest))
}

// Yield returns how long to wait before the next pass over a key that waits for other objects' aborts. Each generation waits once, for at
// most maxYield.
func (p *Pace) Yield(key string, generation int64, aborting bool, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	y := p.yielding[key]
	switch {
	case y.passed == generation:
		return 0
	case !aborting, !y.since.IsZero() && now.Sub(y.since) >= maxYield:
		p.yielding[key] = yielding{passed: generation}
		return 0
	case y.since.IsZero(), y.since.After(now): // The clock was set back.
		y.since = now
		p.yielding[key] = y
	}
	return yieldInterval
}

// Forget drops the state of a key.
func (p *Pace) Forget(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.until, key)
	delete(p.yielding, key)
}

// Abort is how a pass left the abort of an object.
type Abort int

// The ways.
const (
	// NoAbort means that there is none in progress, or that no pass was made yet.
	NoAbort Abort = iota
	// AbortUnderWay means that works have yet to be restored.
	AbortUnderWay
	// AbortStuck means that there is no revision to go back to, so that nothing is restored.
	AbortStuck
)

// Aborting remembers how the last pass over each object left its abort, because the status may not be able to hold it.
type Aborting struct {
	mu   sync.Mutex
	keys map[string]Abort
}

// NewAborting returns an Aborting without aborts.
func NewAborting() *Aborting { return &Aborting{keys: map[string]Abort{}} }

// Note notes how a pass left the abort of an object.
func (a *Aborting) Note(key string, left Abort) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if left == NoAbort {
		delete(a.keys, key)
	} else {
		a.keys[key] = left
	}
}

// Of returns how the last pass left the abort of an object.
func (a *Aborting) Of(key string) Abort {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.keys[key]
}
