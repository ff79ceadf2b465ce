package memory

import (
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
)

// Told is what this process has told of each ManifestWorkReplicaSet, by "namespace/name", so that it does not tell it twice, nor too
// often. What a status tells is told by its transitions (tell.go), and needs no memory.
//
// An entry begins when something is told, and goes away when the cache shows that its owner is gone: another one with its name is told of
// again.
type Told struct{ entries[string, toldOfOwner] }

// toldOfOwner is what this process has said of one owner.
type toldOfOwner struct {
	// notes holds the texts of the log and of events that each process says once.
	notes sets.Set[string]
	// ruledOut is the hash of the revision whose rollout was last said to have nothing to go back to; empty for none.
	ruledOut string
	// reportedAt is when a status was written last; zero for never.
	reportedAt time.Time
}

// Announce reports whether a note of an owner is told for the first time by this process. From then on it is known as told: of
// several callers, one gets true.
func (m *Told) Announce(owner, note string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.of(owner).announce(note)
}

func (t *toldOfOwner) announce(note string) bool {
	if t.notes.Has(note) {
		return false
	}
	if t.notes == nil {
		t.notes = sets.New[string]()
	}
	t.notes.Insert(note)
	return true
}

// RulesOut notes for which revision's rollout an abort is asked for while there is nothing to go back to; empty for none. It reports
// whether this process has not said so yet.
func (m *Told) RulesOut(owner, hash string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.look(owner).ruledOut == hash {
		return false
	}
	m.of(owner).ruledOut = hash
	return hash != ""
}

// Reported notes that a status was written.
func (m *Told) Reported(owner string, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of(owner).reportedAt = now
}

// LastReport is when a status was written last; zero for never.
func (m *Told) LastReport(owner string) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.look(owner).reportedAt
}
