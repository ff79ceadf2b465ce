package memory

import "sync"

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
