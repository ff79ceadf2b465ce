package memory

import "sync"

// entries holds what a process knows by key. An entry is read and changed only by who holds mu.
type entries[K comparable, V any] struct {
	mu    sync.Mutex
	known map[K]*V
}

// of finds an entry to note something in, or begins one. The caller holds mu.
func (e *entries[K, V]) of(key K) *V {
	found := e.known[key]
	if found == nil {
		if e.known == nil {
			e.known = map[K]*V{}
		}
		found = new(V)
		e.known[key] = found
	}
	return found
}

// look is an entry to read only, the zero value where there is none: a question begins none. The caller holds mu.
func (e *entries[K, V]) look(key K) V {
	if found := e.known[key]; found != nil {
		return *found
	}
	var none V
	return none
}

// Forget drops an entry.
func (e *entries[K, V]) Forget(key K) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.known, key)
}
