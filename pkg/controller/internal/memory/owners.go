package memory

import (
	"maps"
	"slices"
	"time"

	"github.com/open-cluster-management-io/work-rollback/pkg/ledger"
	"github.com/open-cluster-management-io/work-rollback/pkg/lifecycle"
)

// Owners is this process's knowledge about each ManifestWorkReplicaSet that can't be read from the object, by "namespace/name": which
// clusters' works it can't write, in which places it can't have the ledger, and the ledger itself, in case both places lose it.
//
// An entry is created when something is noted, never by a read. It is dropped as a whole when the cache shows that its owner is gone.
type Owners struct{ entries[string, knownOwner] }

// knownOwner is the knowledge about one owner. An owner without an entry has the zero value.
type knownOwner struct {
	// failing holds the writes of works that failed when they were last tried, by their names in messages.
	failing map[string]*failure
	// answers holds the API server's answers to other requests that fail in each pass, by request.
	answers map[string]*answer
	// places maps the places of the ledger that were unavailable at the last attempt. A place without an entry held the ledger.
	places map[Place]lostPlace
	// decided is the ledger that this process last decided or found; nil for none.
	decided *ledger.Ledger
	// confirmed is the resourceVersion of the object that holds the ledger although the cache does not show it; empty for none.
	confirmed string
	// verified is the resourceVersion of the object for which the cached revisions were compared with the live ones; empty for none.
	verified string
	// begun is when this process first saw the beginning of the rollout.
	begun sighting
	// writtenBack are the clusters whose works were restored in an abort, with the target revision and when the abort began.
	writtenBack lifecycle.WrittenBack
}

// Verify notes that the cached revisions were compared with the live ones for a version of the object.
func (m *Owners) Verify(owner, version string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of(owner).verified = version
}

// Verified reports whether the cached revisions were compared with the live ones for a version of the object.
func (m *Owners) Verified(owner, version string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.look(owner).verified == version
}

// BeginSeen returns when this process first saw the rollout that began at a time, or that time if it is earlier.
func (m *Owners) BeginSeen(owner string, began, now time.Time) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.of(owner).begun.see(began, now)
}

// Retries allows an immediate write to clusters that a user retries, although the API server has rejected their works.
func (m *Owners) Retries(owner string, clusters []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.known[owner]
	if known == nil || len(clusters) == 0 {
		return
	}
	known.failing = maps.Clone(known.failing) // It is read without the lock.
	for what, f := range known.failing {
		if slices.Contains(clusters, f.cluster) {
			again := *f
			again.triedAt = time.Time{}
			known.failing[what] = &again
		}
	}
}

// SetBack sets write times in the future to now, because the clock was set back since.
func (m *Owners) SetBack(owner string, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known := m.known[owner]; known != nil {
		known.setBack(now)
	}
}

// setBack sets times in the future to now: the clock was set back since this process noted them. Deadlines run from some of them.
func (k *knownOwner) setBack(now time.Time) {
	for what, f := range k.failing {
		if f.triedAt.After(now) {
			earlier := *f
			setBack(now, &earlier.since, &earlier.refusedSince, &earlier.triedAt)
			k.failing = maps.Clone(k.failing) // It is read without the lock.
			k.failing[what] = &earlier
		}
	}
}

// WroteBack remembers that the work of a cluster was restored in an abort.
func (m *Owners) WroteBack(owner, abort, cluster string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.of(owner)
	if known.writtenBack.Abort != abort {
		known.writtenBack = lifecycle.WrittenBack{Abort: abort, Clusters: map[string]bool{}}
	}
	known.writtenBack.Clusters[cluster] = true
}

// WrittenBack returns the clusters whose works were restored, and in which abort.
func (m *Owners) WrittenBack(owner string) lifecycle.WrittenBack {
	m.mu.Lock()
	defer m.mu.Unlock()
	found := m.look(owner).writtenBack
	found.Clusters = maps.Clone(found.Clusters)
	return found
}
