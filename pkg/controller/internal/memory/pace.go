package memory

import (
	"sync"
	"time"
)

const (
	// restFactor is how many times as long as a pass took the next one waits: passes that change nothing take at most a tenth of a
	// core for each ManifestWorkReplicaSet, however many agents report at once.
	restFactor = 10
	// maxRest bounds that, so that nobody waits for an abort because of it.
	maxRest = time.Second
)

// Pace spares the passes that the events of a large fleet would lead to: each agent's report is an event, and one pass sees
// them all. A pass that wrote is followed by the next one at once, what it decided goes on there; the first event after a quiet
// time is looked at at once too.
type Pace struct {
	mu    sync.Mutex
	until map[string]time.Time
}

// NewPace returns one that makes nobody wait.
func NewPace() *Pace { return &Pace{until: map[string]time.Time{}} }

// Wait is how long to wait before the next pass over a key.
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

// Forget drops what is known of a key.
func (p *Pace) Forget(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.until, key)
}

// Aborting remembers which objects' aborts are being carried out, for when their status can't hold it.
type Aborting struct {
	mu   sync.Mutex
	keys map[string]bool
}

// NewAborting returns one that knows of no abort.
func NewAborting() *Aborting { return &Aborting{keys: map[string]bool{}} }

// Note notes whether a pass left an abort to be carried out.
func (a *Aborting) Note(key string, is bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if is {
		a.keys[key] = true
	} else {
		delete(a.keys, key)
	}
}

// Is reports whether the last pass left an abort to be carried out.
func (a *Aborting) Is(key string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.keys[key]
}
