package controller

import (
	"maps"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
)

// memory is what this process has seen of the works and can't be read from them. All of it may be lost: a restart waits
// a little longer, and asks again what it was refused (R8, R10).
type memory struct {
	mu        sync.Mutex
	digests   *digests
	works     map[types.UID]*workMemory
	refusals  map[refusal]bool
	announced map[string]bool
	// pruned holds when the API server was seen dropping the status fields that only our CRD has, by owner.
	pruned map[string]pruning
	// reports holds when a status was written last, by owner.
	reports map[string]time.Time
	// unwritten holds the deciding fields of the status while nothing else does, by owner.
	unwritten map[string]status.Revisions
}

type refusal struct{ owner, cluster string }

type workMemory struct {
	// content is the digest of the spec at a generation, so that a spec is looked at once per generation (P8).
	content           revision.Digest
	contentGeneration int64

	// succeededSince is since when the work is seen succeeding, as the fingerprint describes it.
	succeededSince time.Time
	fingerprint    fingerprint

	// turnedAt is when it was seen to turn from success to something else, or the other way, since the hub wrote its revision;
	// succeeds is what it was seen to be last. clockAhead says that its agent's clock was seen ahead in that time.
	turnedAt   time.Time
	succeeds   bool
	clockAhead bool

	unselectedSince time.Time

	// asked is the content that was written last, and askedGeneration what generation came of it.
	asked           revision.Digest
	askedGeneration int64
	// difference names the field in which the two differ.
	difference string
}

func newMemory() *memory {
	return &memory{
		digests: newDigests(), works: map[types.UID]*workMemory{}, refusals: map[refusal]bool{}, announced: map[string]bool{},
		pruned: map[string]pruning{}, reports: map[string]time.Time{}, unwritten: map[string]status.Revisions{},
	}
}

// of finds what is known of a work. The caller holds mu.
func (m *memory) of(uid types.UID) *workMemory {
	known := m.works[uid]
	if known == nil {
		known = &workMemory{}
		m.works[uid] = known
	}
	return known
}

func (m *memory) forget(uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.works, uid)
}

// view makes a work as Decide wants it.
func (m *memory) view(object *workv1.ManifestWork, selected bool, now time.Time) rollout.Work {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.read(object)
	switch {
	case selected:
		known.unselectedSince = time.Time{}
	case known.unselectedSince.IsZero():
		known.unselectedSince = now
	}
	w := rollout.Work{Object: object, Digest: known.content, UnselectedSince: known.unselectedSince}
	if known.asked != known.content && known.askedGeneration == object.Generation {
		w.AcceptedAs = known.asked
	}
	return w
}

// digest says what a work's spec means.
func (m *memory) digest(object *workv1.ManifestWork) revision.Digest {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.read(object).content
}

// read finds what the spec of a work means, once per generation. The caller holds mu.
func (m *memory) read(object *workv1.ManifestWork) *workMemory {
	known := m.of(object.UID)
	if known.contentGeneration != object.Generation {
		m.learn(known, object)
	}
	return known
}

// learn notes what the spec means. One that can't be digested equals no revision, and is put back under the strategy.
func (m *memory) learn(known *workMemory, object *workv1.ManifestWork) {
	digest, slim := slimDigest(object)
	if !slim {
		digest = m.digests.of(&object.Spec)
	}
	known.content, known.contentGeneration = digest, object.Generation
}

// settle notes whether a work is seen succeeding at a revision, and fills in since when. A success that was interrupted, or that
// is one of another revision, begins anew (R10).
func (m *memory) settle(w *rollout.Work, succeeds bool, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.of(w.Object.UID)
	print := fingerprintOf(w.Object)
	switch {
	case !succeeds:
		known.succeededSince = time.Time{}
	case known.succeededSince.IsZero() || known.fingerprint != print:
		known.succeededSince = now
	}
	known.turn(succeeds, known.fingerprint.sameWrite(print), now)
	known.clockAhead = known.clockAhead || rollout.ClockIsAhead(w.Object, now)
	known.fingerprint = print
	w.SucceededSince, w.TurnedAt, w.ClockAhead = known.succeededSince, known.turnedAt, known.clockAhead
}

// turn notes when a work that this process watches turns. What it was before the hub wrote it last says nothing.
func (w *workMemory) turn(succeeds, watched bool, now time.Time) {
	switch {
	case !watched:
		w.turnedAt, w.clockAhead = time.Time{}, false
	case succeeds != w.succeeds:
		w.turnedAt = now
	}
	w.succeeds = succeeds
}

// wrote notes which revision was written to a work. If the cache shows another content at the generation that came of it, that
// is how the API server accepted it (R10).
func (m *memory) wrote(answer metav1.Object, wanted *rollout.Revision) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.of(answer.GetUID())
	known.asked, known.askedGeneration, known.difference = wanted.Digest, answer.GetGeneration(), ""
}

// difference says in which field a work differs from what was written to it; find is asked the first time.
func (m *memory) difference(uid types.UID, find func() string) string {
	m.mu.Lock()
	known := m.of(uid).difference
	m.mu.Unlock()
	if known != "" {
		return known
	}
	known = find()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of(uid).difference = known
	return known
}

// refuse notes whether a cluster's work can't be written for a reason that lasts. owner is "namespace/name".
func (m *memory) refuse(owner, cluster string, lasting bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if lasting {
		m.refusals[refusal{owner, cluster}] = true
	} else {
		delete(m.refusals, refusal{owner, cluster})
	}
}

// refused says whether the last attempt to write a cluster's work failed for a reason that lasts.
func (m *memory) refused(owner, cluster string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.refusals[refusal{owner, cluster}]
}

// prunedInterval is how often the API server is asked again whether it keeps the status fields that only our CRD has.
const prunedInterval = 5 * time.Minute

// pruning is how the API server was seen dropping fields.
type pruning struct {
	at time.Time
	// defaulted says that the object had a default that only our CRD gives, all the same.
	defaulted bool
}

// prunes notes whether the API server drops the status fields that only our CRD has, and whether its answer was defaulted by our CRD.
func (m *memory) prunes(owner string, pruned, defaulted bool, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if pruned {
		m.pruned[owner] = pruning{at: now, defaulted: defaulted}
	} else {
		delete(m.pruned, owner)
	}
}

// defaulted notes that an object has a default that only our CRD gives. If it did not have it when fields were dropped, the CRD
// became a newer one since, and need not be waited for: the API server is asked with the next status.
func (m *memory) defaulted(owner string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if seen, ok := m.pruned[owner]; ok && !seen.defaulted {
		m.pruned[owner] = pruning{}
	}
}

// isPruned says whether it was seen doing so lately.
func (m *memory) isPruned(owner string, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	seen, ok := m.pruned[owner]
	return ok && now.Before(seen.at.Add(prunedInterval))
}

// knownPruned says whether it was seen doing so the last time that it was asked.
func (m *memory) knownPruned(owner string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, ok := m.pruned[owner]
	return ok
}

// forgetOwner drops what is known of an owner that is gone.
func (m *memory) forgetOwner(owner string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.pruned, owner)
	delete(m.reports, owner)
	delete(m.unwritten, owner)
	maps.DeleteFunc(m.refusals, func(r refusal, _ bool) bool { return r.owner == owner })
	maps.DeleteFunc(m.announced, func(text string, _ bool) bool { return strings.HasPrefix(text, owner+" ") })
}

// announce says whether a text is told for the first time by this process.
func (m *memory) announce(text string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.announced[text] {
		return false
	}
	m.announced[text] = true
	return true
}

// fingerprint tells two reports of an agent apart, also when both say success: a condition that went away and came back has
// another transition time.
type fingerprint struct {
	generation                                int64
	revision                                  string
	applied, progressing, available, degraded conditionPrint
}

// conditionPrint is a condition as far as it matters. The API server keeps whole seconds.
type conditionPrint struct {
	status metav1.ConditionStatus
	since  int64
}

// sameWrite says that the hub wrote no revision between two reports.
func (f fingerprint) sameWrite(other fingerprint) bool {
	return f.generation == other.generation && f.revision == other.revision
}

func fingerprintOf(work *workv1.ManifestWork) fingerprint {
	f := fingerprint{generation: work.Generation, revision: work.Annotations[workv1alpha1.AnnotationAppliedAt]}
	for i := range work.Status.Conditions {
		c := &work.Status.Conditions[i]
		print := conditionPrint{status: c.Status, since: c.LastTransitionTime.Unix()}
		switch c.Type {
		case workv1.WorkApplied:
			f.applied = print
		case workv1.WorkProgressing:
			f.progressing = print
		case workv1.WorkAvailable:
			f.available = print
		case workv1.WorkDegraded:
			f.degraded = print
		}
	}
	return f
}
