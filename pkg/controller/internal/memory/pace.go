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
	mu    sync.Mutex
	until map[string]time.Time
	// yielding holds when the pass over each object began to wait for other objects' aborts.
	yielding map[string]time.Time
}

// NewPace returns a Pace without waits.
func NewPace() *Pace { return &Pace{until: map[string]time.Time{}, yielding: map[string]time.Time{}} }

// Wait returns how long to wait before the next pass over a key.
func (p *Pace) Wait(key string, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return min(p.until[key].Sub(now), maxRest)
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

// Yield returns how long to wait before the next pass over a key that waits for other objects' aborts, if there are any. It is zero once
// the pass has waited long enough.
func (p *Pace) Yield(key string, aborting bool, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	since, waits := p.yielding[key]
	switch {
	case !aborting:
		delete(p.yielding, key)
		return 0
	case !waits || since.After(now): // The clock was set back.
		p.yielding[key] = now
	case now.Sub(since) >= maxYield:
		return 0
	}
	return yieldInterval
}

// Yielded notes that the next pass over a key waits for no abort.
func (p *Pace) Yielded(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.yielding, key)
}

// Forget drops the state of a key.
func (p *Pace) Forget(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.until, key)
	delete(p.yielding, key)
}

// Aborting remembers the objects with an abort in progress, because their status may not be able to hold it.
type Aborting struct {
	mu   sync.Mutex
	keys map[string]bool
}

// NewAborting returns an Aborting without aborts.
func NewAborting() *Aborting { return &Aborting{keys: map[string]bool{}} }

// Note notes whether a pass left an abort unfinished.
func (a *Aborting) Note(key string, is bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if is {
		a.keys[key] = true
	} else {
		delete(a.keys, key)
	}
}

// Is reports whether the last pass left an abort unfinished.
func (a *Aborting) Is(key string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.keys[key]
}
