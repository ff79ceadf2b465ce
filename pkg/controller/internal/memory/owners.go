package memory

import (
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision/plan"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
)

// Owners is what this process knows of each ManifestWorkReplicaSet and can't be read from it, by "namespace/name": which clusters'
// works it can't write, whether the API server drops fields of its status, and what the status can't hold.
//
// An entry begins when something is noted, never with a question, and goes away as a whole when the cache shows that its owner is gone.
type Owners struct{ entries[string, knownOwner] }

// knownOwner is what is known of one owner. Of one without an entry, what the zero value says.
type knownOwner struct {
	// failing holds the writes of works that failed when they were tried last, by how a person calls them.
	failing map[string]*failure
	// answers holds what the API server said to other requests that fail in each pass, by what they are.
	answers map[string]*answer
	// pruned is how the API server was seen dropping the status fields that only our CRD has; nil when it kept them the last time that
	// it was asked.
	pruned *pruning
	// droppedAt is when the API server was seen dropping a field of the status that a CRD of ours may lack, by field; without an entry it kept
	// the field the last time that it was asked.
	droppedAt map[Field]time.Time
	// revisions are the deciding fields of the status as of the last pass.
	revisions status.Revisions
	// completed is the hash of the revision whose rollout was complete when the revision could not record it.
	completed string
	// incomplete is the hash of the revision whose rollout this process last judged not to be complete; empty once it is.
	incomplete string
	// unrecorded are the hashes and digests of what was rolled out without a history, the latest last.
	unrecorded []plan.RolledOut
	// records are the facts about the rollout, as of the last pass, and retried is when somebody took failures out of the status.
	records plan.Recorded
	retried map[string]time.Time
	// collisions is status.collisionCount where the API server drops it.
	collisions int32
	// aborted is when and why a rollout was aborted: until the revision records it, nothing else does.
	aborted plan.Aborted
	// writtenBack are the clusters whose works were written back in an abort, by what they were to become and when it began.
	writtenBack plan.WrittenBack
}

// PrunedInterval is how often the API server is asked again whether it keeps the status fields that only our CRD has.
const PrunedInterval = 5 * time.Minute

// pruning is how the API server was seen dropping fields.
type pruning struct {
	// at is when; zero when the API server is to be asked with the next status.
	at time.Time
	// defaulted says that the object had a default that only our CRD gives, all the same.
	defaulted bool
}

// lately reports whether it was seen so lately that it is not asked again yet.
func (p *pruning) lately(now time.Time) bool { return p != nil && now.Before(p.at.Add(PrunedInterval)) }

// Prunes notes whether the API server drops the status fields that only our CRD has, and whether its answer was defaulted by our CRD.
func (m *Owners) Prunes(owner string, pruned, defaulted bool, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if pruned {
		m.of(owner).pruned = &pruning{at: now, defaulted: defaulted}
	} else if known := m.known[owner]; known != nil {
		known.pruned = nil
	}
}

// Defaulted notes that an object has a default that only our CRD gives. If it did not have it when fields were dropped, the CRD
// became a newer one since, and need not be waited for: the API server is asked with the next status.
func (m *Owners) Defaulted(owner string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known := m.known[owner]; known != nil && known.pruned != nil && !known.pruned.defaulted {
		known.pruned, known.droppedAt = &pruning{}, nil
	}
}

// PrunedLately reports whether the API server was seen dropping fields, and is not to be asked again yet.
func (m *Owners) PrunedLately(owner string, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.look(owner).pruned.lately(now)
}

// PrunedLast reports whether it was seen doing so the last time that it was asked.
func (m *Owners) PrunedLast(owner string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.look(owner).pruned != nil
}

// unrecordedKept bounds how much of what was rolled out without a history is known.
const unrecordedKept = 10

// Note keeps what a plan wants remembered, for this process.
func (m *Owners) Note(owner string, outcome *plan.Outcome) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if outcome.Keep {
		m.of(owner).revisions = outcome.Revisions
	}
	if outcome.Completed != "" {
		m.of(owner).completed = outcome.Completed
	}
	if incomplete := outcome.Incomplete; incomplete != nil && m.look(owner).incomplete != *incomplete {
		m.of(owner).incomplete = *incomplete
	}
	if rolledOut := outcome.RolledOut; rolledOut.Hash != "" {
		known := m.of(owner)
		rest := slices.DeleteFunc(known.unrecorded, func(u plan.RolledOut) bool { return u.Hash == rolledOut.Hash })
		known.unrecorded = append(rest[max(0, len(rest)+1-unrecordedKept):], rolledOut)
	}
}

// Recall is what the plan of an owner's revisions looks at, as values.
func (m *Owners) Recall(owner string, now time.Time) plan.Memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.look(owner)
	return plan.Memory{
		Kept: known.revisions, Completed: known.completed, Incomplete: known.incomplete, Unrecorded: known.digests(),
		Pruned: known.pruned.lately(now), Aborted: known.aborted, Records: known.records, RecordsDropped: known.dropped(FailureList),
	}
}

// Recorded notes the facts about the rollout of a revision that the status holds, or can't hold (R11).
func (m *Owners) Recorded(owner string, facts plan.Recorded) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.of(owner)
	if known.records.Revision != facts.Revision {
		known.retried = nil
	}
	known.records = facts
}

// Retries returns when somebody removed failures from the status that this process recorded there, by cluster. What the API server answered
// to writes of such a cluster before is forgotten, so that the next one is tried at once (R11).
func (m *Owners) Retries(owner string, stored plan.Recorded, now time.Time) map[string]time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.known[owner]
	if known == nil || known.records.Revision != stored.Revision || known.dropped(FailureList) {
		return nil
	}
	removed := func(cluster string) bool {
		_, recorded := known.records.Failures[cluster]
		_, kept := stored.Failures[cluster]
		return recorded && !kept
	}
	for cluster := range known.records.Failures {
		if removed(cluster) {
			known.noteRetry(cluster, now)
		}
	}
	// Both maps are read without the lock.
	known.failing = without(known.failing, func(_ string, f *failure) bool { return removed(f.cluster) })
	known.records.Failures = without(known.records.Failures, func(c string, _ rollout.Failure) bool { return removed(c) })
	return maps.Clone(known.retried)
}

// noteRetry notes that somebody asked for another try of a cluster.
func (k *knownOwner) noteRetry(cluster string, now time.Time) {
	if k.retried == nil {
		k.retried = map[string]time.Time{}
	}
	k.retried[cluster] = now
}

// without returns a map without the entries that are to be removed: the map itself where there are none.
func without[K comparable, V any](entries map[K]V, removed func(K, V) bool) map[K]V {
	for key, value := range entries {
		if removed(key, value) {
			rest := maps.Clone(entries)
			maps.DeleteFunc(rest, removed)
			return rest
		}
	}
	return entries
}

// digests are those of what was rolled out without a history, by hash.
func (k *knownOwner) digests() map[string]revision.Digest {
	digests := make(map[string]revision.Digest, len(k.unrecorded))
	for _, u := range k.unrecorded {
		digests[u.Hash] = u.Digest
	}
	return digests
}

// Collided keeps, for this process, how many collisions were met where the status can't hold it.
func (m *Owners) Collided(owner string, count int32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of(owner).collisions = count
}

// Collisions is what was kept last; 0 for nothing.
func (m *Owners) Collisions(owner string) int32 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.look(owner).collisions
}

// AbortedFor keeps, for this process, why a rollout was aborted at a time.
func (m *Owners) AbortedFor(owner string, at *metav1.Time, reason string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of(owner).aborted = plan.Aborted{At: *at, Reason: reason}
}

// WroteBack keeps, for this process, that the work of a cluster was written back in an abort.
func (m *Owners) WroteBack(owner, abort, cluster string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.of(owner)
	if known.writtenBack.Abort != abort {
		known.writtenBack = plan.WrittenBack{Abort: abort, Clusters: map[string]bool{}}
	}
	known.writtenBack.Clusters[cluster] = true
}

// WrittenBack returns the clusters whose works were written back, and in which abort.
func (m *Owners) WrittenBack(owner string) plan.WrittenBack {
	m.mu.Lock()
	defer m.mu.Unlock()
	found := m.look(owner).writtenBack
	found.Clusters = maps.Clone(found.Clusters)
	return found
}

// AbortReason is why the rollout that was aborted at a time was; empty where it is not known.
func (m *Owners) AbortReason(owner string, at *metav1.Time) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known := m.look(owner); known.aborted.At.Equal(at) {
		return known.aborted.Reason
	}
	return ""
}
