package memory

import (
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/lifecycle"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
)

// Owners is this process's knowledge about each ManifestWorkReplicaSet that can't be read from the object, by "namespace/name": which
// clusters' works it can't write, whether the API server drops fields of its status, and facts that the status can't hold.
//
// An entry is created when something is noted, never by a read. It is dropped as a whole when the cache shows that its owner is gone.
type Owners struct{ entries[string, knownOwner] }

// knownOwner is the knowledge about one owner. An owner without an entry has the zero value.
type knownOwner struct {
	// failing holds the writes of works that failed when they were last tried, by their names in messages.
	failing map[string]*failure
	// answers holds the API server's answers to other requests that fail in each pass, by request.
	answers map[string]*answer
	// pruned records that the API server dropped the status fields that only our CRD has; nil if it kept them the last time.
	pruned *pruning
	// droppedAt is when the API server dropped a field of the status that an older CRD of ours may lack, by field. Without an entry it kept
	// the field the last time.
	droppedAt map[Field]time.Time
	// revisions are the deciding fields of the status as of the last pass.
	revisions status.Revisions
	// completed is the hash of the revision whose rollout was complete, but which could not record that.
	completed string
	// incomplete is the hash of the revision whose rollout this process last found incomplete; empty once it is complete.
	incomplete string
	// unrecorded are the hashes and digests of the templates that were rolled out without a history, the latest last.
	unrecorded []lifecycle.RolledOut
	// records are the facts about the rollout as of the last pass. retried is when a user removed failures from the status.
	records lifecycle.Recorded
	retried map[string]time.Time
	// collisions is status.collisionCount if the API server drops it.
	collisions int32
	// aborted is when and why a rollout was aborted. Only this field holds the reason until the revision records it.
	aborted lifecycle.Aborted
	// writtenBack are the clusters whose works were restored in an abort, with the target revision and when the abort began.
	writtenBack lifecycle.WrittenBack
}

// PrunedInterval is how often this process tries again whether the API server keeps the status fields that only our CRD has.
const PrunedInterval = 5 * time.Minute

// pruning records that the API server dropped fields.
type pruning struct {
	// at is when it dropped them; zero if the next status tries again.
	at time.Time
	// defaulted is true if the object nevertheless had a default that only our CRD sets.
	defaulted bool
}

// lately reports whether this was so recent that fields are not tried again yet.
func (p *pruning) lately(now time.Time) bool { return p != nil && lately(p.at, now, PrunedInterval) }

// Prunes notes whether the API server drops the status fields that only our CRD has, and whether its answer has a default of our CRD.
func (m *Owners) Prunes(owner string, pruned, defaulted bool, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if pruned {
		m.of(owner).pruned = &pruning{at: now, defaulted: defaulted}
	} else if known := m.known[owner]; known != nil {
		known.pruned = nil
	}
}

// Defaulted notes that an object has a default that only our CRD sets. If it lacked the default when fields were dropped, the CRD was
// updated since. Then the next status tries the fields again without a wait.
func (m *Owners) Defaulted(owner string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known := m.known[owner]; known != nil && known.pruned != nil && !known.pruned.defaulted {
		known.pruned, known.droppedAt = &pruning{}, nil
	}
}

// PrunedLately reports whether the API server recently dropped fields, so that they are not tried again yet.
func (m *Owners) PrunedLately(owner string, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.look(owner).pruned.lately(now)
}

// PrunedLast reports whether the API server dropped fields the last time.
func (m *Owners) PrunedLast(owner string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.look(owner).pruned != nil
}

// unrecordedKept is the maximum number of remembered rollouts without a history.
const unrecordedKept = 10

// Note remembers the facts that a plan wants remembered.
func (m *Owners) Note(owner string, outcome *lifecycle.Outcome) {
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
		rest := slices.DeleteFunc(known.unrecorded, func(u lifecycle.RolledOut) bool { return u.Hash == rolledOut.Hash })
		known.unrecorded = append(rest[max(0, len(rest)+1-unrecordedKept):], rolledOut)
	}
}

// Recall returns the memory that the plan of an owner's revisions reads, as values. Each pass begins with it.
func (m *Owners) Recall(owner string, now time.Time) lifecycle.Memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known := m.known[owner]; known != nil {
		known.setBack(now)
	}
	known := m.look(owner)
	return lifecycle.Memory{
		Kept: known.revisions, Completed: known.completed, Incomplete: known.incomplete, Unrecorded: known.digests(),
		Pruned: known.pruned.lately(now), Aborted: known.aborted, Records: known.records, RecordsDropped: known.dropped(FailureList),
	}
}

// Recorded notes the facts about the rollout of a revision, whether or not the status can hold them.
func (m *Owners) Recorded(owner string, facts lifecycle.Recorded) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.of(owner)
	if known.records.Revision != facts.Revision {
		known.retried = nil
	}
	known.records = facts
}

// Retries returns when a user removed failures from the status that this process recorded there, by cluster. It forgets the API server's
// earlier answers to writes of such a cluster, so that the next write is tried at once.
func (m *Owners) Retries(owner string, stored lifecycle.Recorded, now time.Time) map[string]time.Time {
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

// setBack sets times in the future to now: the clock was set back since this process noted them. Deadlines run from some of them.
func (k *knownOwner) setBack(now time.Time) {
	for cluster, at := range k.retried {
		setBack(now, &at)
		k.retried[cluster] = at
	}
	for what, f := range k.failing {
		if f.triedAt.After(now) {
			earlier := *f
			setBack(now, &earlier.since, &earlier.refusedSince, &earlier.triedAt)
			k.failing = maps.Clone(k.failing) // It is read without the lock.
			k.failing[what] = &earlier
		}
	}
}

// noteRetry notes that a user retries a cluster.
func (k *knownOwner) noteRetry(cluster string, now time.Time) {
	if k.retried == nil {
		k.retried = map[string]time.Time{}
	}
	k.retried[cluster] = now
}

// without returns a map without the entries that are to be removed. It returns the map itself if there are none.
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

// digests returns the digests of the templates that were rolled out without a history, by hash.
func (k *knownOwner) digests() map[string]revision.Digest {
	digests := make(map[string]revision.Digest, len(k.unrecorded))
	for _, u := range k.unrecorded {
		digests[u.Hash] = u.Digest
	}
	return digests
}

// Collided remembers the number of hash collisions if the status can't hold it.
func (m *Owners) Collided(owner string, count int32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of(owner).collisions = count
}

// Collisions returns the number that was last remembered; 0 for none.
func (m *Owners) Collisions(owner string) int32 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.look(owner).collisions
}

// AbortedFor remembers why a rollout was aborted at a time.
func (m *Owners) AbortedFor(owner string, at *metav1.Time, reason string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of(owner).aborted = lifecycle.Aborted{At: *at, Reason: reason}
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
