package memory

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
	"github.com/open-cluster-management-io/work-rollback/pkg/workcache"
)

// Works is this process's knowledge about single ManifestWorks: the digests of their specs, its own writes to them, and when it first saw
// their states.
//
// An entry is created with the first read about a work, and dropped when the cache shows that the work is gone. It is found by UID, so a
// recreated work of the same name has no entry. A pass that began before the work was gone may create the entry again, which is then no
// longer used. A spec is digested once for each generation. No work whose cost an agent or a tenant decides is done while mu is held.
type Works struct {
	// digests has its own lock, and may be used without holding mu.
	digests *workcache.Digests

	entries[types.UID, knownWork]
}

// knownWork is the knowledge about one work. In the zero value nothing is known.
type knownWork struct {
	// content is the digest of the spec at a generation, so that a spec is digested once per generation (P8).
	content           revision.Digest
	contentGeneration int64
	// read is the work as it was last read from the cache. A cache replaces an object and never changes it, so the same object is read once.
	read work.Work

	// succeededSince is when this process first saw the success with this fingerprint.
	succeededSince time.Time
	fingerprint    fingerprint

	// turnedAt is when it was seen to change from success to another state or the reverse, since the hub wrote its revision. succeeds is true
	// if it succeeded when last seen. clockAhead is true if its agent's clock was seen ahead in that time.
	turnedAt   time.Time
	succeeds   bool
	clockAhead bool

	// watchedSince is when this process began to watch the result of that write, and settledAt when it first found its success settled.
	watchedSince, settledAt time.Time

	// deletion is when the deletion of the work was first seen.
	deletion sighting

	// unselectedSince is when it was first seen that no Placement selects the work's cluster; zero while one does.
	unselectedSince time.Time
	// leftSince is when it was first seen that the work's Placement no longer names its cluster; zero while it does.
	leftSince time.Time
	// selectedBy are the Placements with several slices that selected it last, by Placement name.
	selectedBy []string

	// asked is the content that was last written, and askedGeneration is the generation that the write made.
	asked           revision.Digest
	askedGeneration int64
	// difference names the field in which the two differ.
	difference string

	// ahead is the version that the API server had when the cache was found behind it, and aheadAt when that was.
	ahead   string
	aheadAt time.Time

	// strippedAt is when the API server did not keep written labels or annotations; zero if it kept them the last time.
	strippedAt time.Time
}

// NewWorks returns empty Works.
func NewWorks() *Works { return &Works{digests: workcache.NewDigests()} }

// Selection is whether and how the Placements select the cluster of a work.
type Selection struct {
	// Selected is true if a Placement selects the cluster.
	Selected bool
	// Unknown is true if a Placement may select it: one is missing, or has no decisions yet.
	Unknown bool
	// Left is true if the Placement that the work is labelled with does not name the cluster, and OCM may still be writing its decisions.
	Left bool
	// Sliced are the Placements with several slices that select it.
	Sliced []string
}

// View returns a work, which has its object and digest, in the form that Decide reads. deletionCounts is true if a deletion increments the
// generation, as in the API server.
func (m *Works) View(w work.Work, by Selection, deletionCounts bool, now time.Time) work.Work {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.of(w.Object.UID)
	known.setBack(now)
	switch {
	case by.Unknown:
		// The time of being unselected begins once it is known which clusters are selected.
		known.unselectedSince = time.Time{}
	case by.Selected:
		known.unselectedSince, known.selectedBy = time.Time{}, by.Sliced
	case known.unselectedSince.IsZero():
		known.unselectedSince = now
	}
	switch {
	case !by.Left:
		known.leftSince = time.Time{}
	case known.leftSince.IsZero():
		known.leftSince = now
	}
	w.DeletionCounts, w.SelectedBy = deletionCounts, known.selectedBy
	w.UnselectedSince, w.LeftSince = known.unselectedSince, known.leftSince
	if w.Deleting() {
		w.DeletionSeen = known.deletion.see(w.Object.DeletionTimestamp.Time, now)
	}
	if asked := known.askedFor(&w); asked != w.Digest {
		w.AcceptedAs = asked
	}
	return w
}

// askedFor returns the digest of the spec that the hub requested when the API server stored a work's current spec; empty if that is not
// known. For works that this process wrote, it knows the generation. For others it reads the work's annotation, if an API server keeps it.
func (w *knownWork) askedFor(mw *work.Work) revision.Digest {
	if w.askedGeneration != 0 && w.askedGeneration == mw.SpecGeneration() {
		return w.asked
	}
	asked, note := mw.Noted()
	switch {
	case !mw.DeletionCounts, note == work.NotedGeneration && w.askedGeneration != 0:
		return ""
	}
	return asked
}

// Read returns a work of the cache with what decisions need of its object.
func (m *Works) Read(object *workv1.ManifestWork) work.Work {
	m.mu.Lock()
	known := m.known[object.UID]
	if known != nil && known.read.Object == object {
		defer m.mu.Unlock()
		return known.read
	}
	m.mu.Unlock()
	w := work.Work{Object: object, Digest: m.Digest(object)}
	w.Read()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of(object.UID).read = w
	return w
}

// Digest returns the digest of a work's spec.
func (m *Works) Digest(object *workv1.ManifestWork) revision.Digest {
	m.mu.Lock()
	known := m.look(object.UID)
	m.mu.Unlock()
	if known.contentGeneration == object.Generation {
		return known.content
	}
	content := m.digest(object)
	m.mu.Lock()
	defer m.mu.Unlock()
	noted := m.of(object.UID)
	noted.content, noted.contentGeneration = content, object.Generation
	return content
}

// Settle notes whether a work is seen succeeding at a revision, and fills in when that began. The time restarts if the success was
// interrupted, or is a success at another revision. For a work that is being deleted it stays: its agent removes the objects that
// succeeded.
func (m *Works) Settle(w *work.Work, succeeds bool, now time.Time) {
	print, ahead := fingerprintOf(w), work.ClockIsAhead(w, now)
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.of(w.Object.UID)
	watched := known.fingerprint.sameWrite(print)
	switch {
	case w.Deleting() && watched && !known.succeededSince.IsZero():
		known.fill(w)
		return
	case !succeeds:
		known.succeededSince = time.Time{}
	case known.succeededSince.IsZero() || known.fingerprint != print:
		known.succeededSince = now
	}
	if !watched {
		known.watchedSince, known.settledAt = now, time.Time{}
	}
	known.turn(succeeds, watched, now)
	known.clockAhead = known.clockAhead || ahead
	known.fingerprint = print
	known.fill(w)
}

// fill fills in this process's observations of a work.
func (w *knownWork) fill(of *work.Work) {
	of.SucceededSince, of.StateChangedAt, of.ClockAhead = w.succeededSince, w.turnedAt, w.clockAhead
	of.WatchedSince, of.SettledAt = w.watchedSince, w.settledAt
}

// setBack sets times in the future to now: the clock was set back since this process saw them.
func (w *knownWork) setBack(now time.Time) {
	setBack(now, &w.succeededSince, &w.turnedAt, &w.watchedSince, &w.settledAt, &w.unselectedSince, &w.leftSince, &w.aheadAt, &w.strippedAt)
}

// Settled notes that works were found settled.
func (m *Works) Settled(works []*work.Work, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, w := range works {
		m.of(w.Object.UID).settledAt = now
	}
}

// Wrote notes which revision was written to a work. If the cache shows different content at the generation of that write, the API server
// stored it so.
func (m *Works) Wrote(answer metav1.Object, wanted *work.Revision) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.of(answer.GetUID())
	known.asked, known.askedGeneration, known.difference = wanted.Digest, answer.GetGeneration(), ""
}

// Stripped notes whether the API server did not keep labels or annotations that were written to a work.
func (m *Works) Stripped(uid types.UID, stripped bool, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if stripped {
		m.of(uid).strippedAt = now
	} else if known := m.known[uid]; known != nil {
		known.strippedAt = time.Time{}
	}
}

// StrippedLately reports whether the API server recently did so, so that the write is not tried again yet.
func (m *Works) StrippedLately(uid types.UID, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return lately(m.look(uid).strippedAt, now, PrunedInterval)
}

// StaleInterval is how soon a pass that found the cache behind the API server is repeated.
const StaleInterval = time.Second

// aheadCounts is how long the finding that a cache was behind counts: the next pass comes within StaleInterval.
const aheadCounts = 5 * StaleInterval

// Follows reports whether a cache that is behind the API server has since caught up with the version that it lacked the last time, a
// moment ago. A cache with a dead watch has not.
func (m *Works) Follows(cached *workv1.ManifestWork, live string, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.of(cached.UID)
	before, at := known.ahead, known.aheadAt
	known.ahead, known.aheadAt = live, now
	return before != "" && now.Sub(at) <= aheadCounts && notOlder(cached.ResourceVersion, before)
}

// Difference returns the field in which a work differs from the last write. It calls find until that returns a field. find may read from
// the API server, so mu is not held meanwhile.
func (m *Works) Difference(uid types.UID, find func() string) string {
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

// Shows reports whether a cached work has all deciding fields of a work that was read live. It trims the live one.
func (m *Works) Shows(cached, live *workv1.ManifestWork) bool { return m.digests.Shows(cached, live) }

// digest returns the digest of a work's spec. A spec without a digest matches no revision, and is restored under the strategy.
func (m *Works) digest(object *workv1.ManifestWork) revision.Digest {
	if digest, trimmed := workcache.TrimmedDigest(object); trimmed {
		return digest
	}
	return m.digests.Of(&object.Spec)
}

// turn notes when a watched work changes from success to another state or the reverse. Its state before the hub's last write does not
// count.
func (w *knownWork) turn(succeeds, watched bool, now time.Time) {
	switch {
	case !watched:
		w.turnedAt, w.clockAhead = time.Time{}, false
	case succeeds != w.succeeds:
		w.turnedAt = now
	}
	w.succeeds = succeeds
}
