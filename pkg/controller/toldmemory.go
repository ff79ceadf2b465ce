package controller

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
)

// toldMemory is what this process has told of each ManifestWorkReplicaSet, by "namespace/name", so that it does not tell it twice, nor too
// often. What a status tells is told by its transitions (tell.go), and needs no memory.
//
// An entry begins when something is told, and goes away when the cache shows that its owner is gone. It is read and changed only
// by who holds mu.
type toldMemory struct {
	mu     sync.Mutex
	owners map[string]*toldOfOwner
}

// toldOfOwner is what was told of one owner.
type toldOfOwner struct {
	// notes holds the texts of the log and of events that are told once by each process.
	notes sets.Set[string]
	// reportedAt is when a status was written last; zero for never.
	reportedAt time.Time
}

func newToldMemory() *toldMemory { return &toldMemory{owners: map[string]*toldOfOwner{}} }

// forget drops what was told of an owner that is gone: another one with its name is told of anew.
func (m *toldMemory) forget(owner string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.owners, owner)
}

// announce says whether a note of an owner is told for the first time by this process. From then on it is known as told: of
// several callers, one gets true.
func (m *toldMemory) announce(owner, note string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	told := m.of(owner)
	if told.notes.Has(note) {
		return false
	}
	told.notes.Insert(note)
	return true
}

// reported notes that a status was written.
func (m *toldMemory) reported(owner string, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of(owner).reportedAt = now
}

// lastReport is when a status was written last; zero for never.
func (m *toldMemory) lastReport(owner string) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	if told := m.owners[owner]; told != nil {
		return told.reportedAt
	}
	return time.Time{}
}

// of finds what was told of an owner, to note more. The caller holds mu.
func (m *toldMemory) of(owner string) *toldOfOwner {
	told := m.owners[owner]
	if told == nil {
		told = &toldOfOwner{notes: sets.New[string]()}
		m.owners[owner] = told
	}
	return told
}
