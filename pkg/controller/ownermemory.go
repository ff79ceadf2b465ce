package controller

import (
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision/plan"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
)

// ownerMemory is what this process knows of each ManifestWorkReplicaSet and can't be read from it, by "namespace/name": which clusters'
// works it can't write, whether the API server drops fields of its status, and what the status can't hold.
//
// An entry begins when something is noted, never with a question, and goes away as a whole when the cache shows that its owner is gone.
type ownerMemory struct{ entries[string, knownOwner] }

// knownOwner is what is known of one owner. Of one without an entry, what the zero value says.
type knownOwner struct {
	// failing holds the writes of works that failed when they were tried last, by how a person calls them.
	failing map[string]*failure
	// answers holds what the API server said to other requests that fail in each pass, by what they are.
	answers map[string]*answer
	// pruned is how the API server was seen dropping the status fields that only our CRD has; nil when it kept them the last time that
	// it was asked.
	pruned *pruning
	// unobservedAt is when the API server was seen dropping status.observedGeneration, as a CRD does that has all other fields; zero when
	// it kept it the last time that it was asked.
	unobservedAt time.Time
	// revisions are the deciding fields of the status as of the last pass.
	revisions status.Revisions
	// completed is the hash of the revision whose rollout was complete when the revision could not tell it.
	completed string
	// incomplete is the hash of the revision whose rollout this process last judged not to be complete; empty once it is.
	incomplete string
	// unrecorded are the hashes and digests of what was rolled out without a history, the latest last.
	unrecorded []unrecorded
	// collisions is status.collisionCount where the API server drops it.
	collisions int32
	// aborted is when and why a rollout was aborted: until the revision tells it, nothing else does.
	aborted struct {
		at     metav1.Time
		reason string
	}
	// writtenBack are the clusters whose works were written back in an abort, by what they were to become and when it began.
	writtenBack struct {
		abort    string
		clusters map[string]bool
	}
}

// prunedInterval is how often the API server is asked again whether it keeps the status fields that only our CRD has.
const prunedInterval = 5 * time.Minute

// pruning is how the API server was seen dropping fields.
type pruning struct {
	// at is when; zero when the API server is to be asked with the next status.
	at time.Time
	// defaulted says that the object had a default that only our CRD gives, all the same.
	defaulted bool
}

// prunes notes whether the API server drops the status fields that only our CRD has, and whether its answer was defaulted by our CRD.
func (m *ownerMemory) prunes(owner string, pruned, defaulted bool, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if pruned {
		m.of(owner).pruned = &pruning{at: now, defaulted: defaulted}
	} else if known := m.known[owner]; known != nil {
		known.pruned = nil
	}
}

// defaulted notes that an object has a default that only our CRD gives. If it did not have it when fields were dropped, the CRD
// became a newer one since, and need not be waited for: the API server is asked with the next status.
func (m *ownerMemory) defaulted(owner string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known := m.known[owner]; known != nil && known.pruned != nil && !known.pruned.defaulted {
		known.pruned, known.unobservedAt = &pruning{}, time.Time{}
	}
}

// prunedLately says whether the API server was seen dropping fields, and is not to be asked again yet.
func (m *ownerMemory) prunedLately(owner string, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	seen := m.look(owner).pruned
	return seen != nil && now.Before(seen.at.Add(prunedInterval))
}

// prunedLast says whether it was seen doing so the last time that it was asked.
func (m *ownerMemory) prunedLast(owner string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.look(owner).pruned != nil
}

// unobserved notes whether the API server drops status.observedGeneration.
func (m *ownerMemory) unobserved(owner string, dropped bool, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if dropped {
		m.of(owner).unobservedAt = now
	} else if known := m.known[owner]; known != nil {
		known.unobservedAt = time.Time{}
	}
}

// unobservedLately says whether the API server was seen dropping it, and is not to be asked again yet.
func (m *ownerMemory) unobservedLately(owner string, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	seen := m.look(owner).unobservedAt
	return !seen.IsZero() && now.Before(seen.Add(prunedInterval))
}

// unobservedLast says whether it was seen doing so the last time that it was asked.
func (m *ownerMemory) unobservedLast(owner string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return !m.look(owner).unobservedAt.IsZero()
}

// keepRevisions keeps, for this process, what a status may not be able to hold while there is no history that would.
func (m *ownerMemory) keepRevisions(owner string, revisions status.Revisions) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of(owner).revisions = revisions
}

// completes keeps, for this process, which revision's rollout was complete, for when the revision can't tell it.
func (m *ownerMemory) completes(owner, hash string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of(owner).completed = hash
}

// judges keeps, for this process, which revision's rollout is not complete; empty where it is.
func (m *ownerMemory) judges(owner, incomplete string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.look(owner).incomplete != incomplete {
		m.of(owner).incomplete = incomplete
	}
}

// unrecordedKept bounds how much of what was rolled out without a history is known.
const unrecordedKept = 10

// unrecorded is a revision that was rolled out while no ControllerRevision could be made.
type unrecorded struct {
	hash   string
	digest revision.Digest
}

// rolledOut keeps, for this process, what was rolled out while no revision could tell it.
func (m *ownerMemory) rolledOut(owner, hash string, digest revision.Digest) {
	m.mu.Lock()
	defer m.mu.Unlock()
	rest := slices.DeleteFunc(m.of(owner).unrecorded, func(u unrecorded) bool { return u.hash == hash })
	m.of(owner).unrecorded = append(rest[max(0, len(rest)+1-unrecordedKept):], unrecorded{hash: hash, digest: digest})
}

// recall is what the plan of an owner's revisions looks at, as values.
func (m *ownerMemory) recall(owner string) plan.Memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.look(owner)
	return plan.Memory{Kept: known.revisions, Completed: known.completed, Incomplete: known.incomplete, Unrecorded: known.digests()}
}

// digests are those of what was rolled out without a history, by hash.
func (k *knownOwner) digests() map[string]revision.Digest {
	digests := make(map[string]revision.Digest, len(k.unrecorded))
	for _, u := range k.unrecorded {
		digests[u.hash] = u.digest
	}
	return digests
}

// collided keeps, for this process, how many collisions were met where the status can't hold it.
func (m *ownerMemory) collided(owner string, count int32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of(owner).collisions = count
}

// collisions is what was kept last; 0 for nothing.
func (m *ownerMemory) collisions(owner string) int32 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.look(owner).collisions
}

// abortedFor keeps, for this process, why a rollout was aborted at a time.
func (m *ownerMemory) abortedFor(owner string, at *metav1.Time, reason string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.of(owner)
	known.aborted.at, known.aborted.reason = *at, reason
}

// wroteBack keeps, for this process, that the work of a cluster was written back in an abort.
func (m *ownerMemory) wroteBack(owner, abort, cluster string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.of(owner)
	if known.writtenBack.abort != abort {
		known.writtenBack.abort, known.writtenBack.clusters = abort, map[string]bool{}
	}
	known.writtenBack.clusters[cluster] = true
}

// writtenBack are the clusters whose works were written back in an abort.
func (m *ownerMemory) writtenBack(owner, abort string) map[string]bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known := m.look(owner); known.writtenBack.abort == abort {
		return maps.Clone(known.writtenBack.clusters)
	}
	return nil
}

// abortReason is why the rollout that was aborted at a time was; empty where it is not known.
func (m *ownerMemory) abortReason(owner string, at *metav1.Time) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known := m.look(owner); known.aborted.at.Equal(at) {
		return known.aborted.reason
	}
	return ""
}
