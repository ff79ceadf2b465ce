package memory

import (
	"maps"
	"slices"
	"time"
)

// Field is a field of the status that this project's own CRD did not always have. An API server whose CRD is older than the field drops it.
type Field string

// The fields.
const (
	// ObservedGeneration is status.observedGeneration.
	ObservedGeneration Field = "status.observedGeneration"
	// RevisionList is status.revisions.
	RevisionList Field = "status.revisions"
	// FailureList is status.failures, with status.rejections and the haltedTime of each placementSummary.
	FailureList Field = "status.failures"
	// ClusterCounts is the counts of clusters in status.summary.
	ClusterCounts Field = "status.summary.failed"
	// State is status.state.
	State Field = "status.state"
	// Away is status.away.
	Away Field = "status.away"
)

// Dropped notes whether the API server drops a field.
func (m *Owners) Dropped(owner string, field Field, dropped bool, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !dropped {
		if known := m.known[owner]; known != nil {
			delete(known.droppedAt, field)
		}
		return
	}
	known := m.of(owner)
	if known.droppedAt == nil {
		known.droppedAt = map[Field]time.Time{}
	}
	known.droppedAt[field] = now
}

// DroppedLately reports whether the API server recently dropped a field, so that it is not tried again yet.
func (m *Owners) DroppedLately(owner string, field Field, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	seen, dropped := m.look(owner).droppedAt[field]
	return dropped && lately(seen, now, PrunedInterval)
}

// DroppedLast returns the fields that the API server dropped the last time, sorted.
func (m *Owners) DroppedLast(owner string) []Field {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.look(owner).droppedAt))
}

func (k *knownOwner) dropped(field Field) bool {
	_, dropped := k.droppedAt[field]
	return dropped
}
