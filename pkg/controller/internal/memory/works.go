package memory

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/workcache"
)

// Works is what this process knows of single ManifestWorks: what their specs mean, what it wrote to them, and since when it
// sees what it sees.
//
// An entry begins with the first question about a work, and goes away when the cache shows that the work is gone. It is found
// by UID: a work that is made again under the same name begins with nothing. A pass that began before the work went away may make
// an entry again, which nobody asks for any more.
// A spec is digested once for each generation. Nothing whose cost an agent or a tenant decides is done while mu is held.
type Works struct {
	// digests has a lock of its own, and may be asked without holding mu.
	digests *workcache.Digests

	entries[types.UID, knownWork]
}

// knownWork is what is known of one work. The zero value is that nothing is.
type knownWork struct {
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

	// watchedSince is since when this process sees what became of that write, and settledAt when it found its success settled first.
	watchedSince, settledAt time.Time

	// deletion is when it was seen first that the work is being deleted.
	deletion sighting

	// unselectedSince is since when no placement is seen selecting the work's cluster; zero while one does (R8).
	unselectedSince time.Time
	// selectedBy are the Placements with several slices that selected it last, by Placement name (R8).
	selectedBy []string

	// asked is the content that was written last, and askedGeneration what generation came of it.
	asked           revision.Digest
	askedGeneration int64
	// difference names the field in which the two differ.
	difference string

	// ahead is the version that the API server had when the cache was found behind it, and aheadAt when that was.
	ahead   string
	aheadAt time.Time

	// strippedAt is when the API server was seen not to keep labels or annotations that were written; zero when it kept them the last time.
	strippedAt time.Time
}

// NewWorks returns one that knows nothing.
func NewWorks() *Works { return &Works{digests: workcache.NewDigests()} }

// Selection is what the Placements say about the cluster of a work.
type Selection struct {
	// Selected reports whether a Placement selects the cluster.
	Selected bool
	// Unknown reports whether a Placement may select it: one is missing, or has made no decision yet.
	Unknown bool
	// Sliced are the Placements with several slices that select it.
	Sliced []string
}

// View makes a work as Decide wants it. deletionCounts says that a deletion makes a generation, as the API server has it.
func (m *Works) View(object *workv1.ManifestWork, by Selection, deletionCounts bool, now time.Time) rollout.Work {
	content := m.Digest(object)
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.of(object.UID)
	known.setBack(now)
	switch {
	case by.Unknown:
		// The time of being unselected begins once it is known which clusters are selected (R8).
		known.unselectedSince = time.Time{}
	case by.Selected:
		known.unselectedSince, known.selectedBy = time.Time{}, by.Sliced
	case known.unselectedSince.IsZero():
		known.unselectedSince = now
	}
	w := rollout.Work{Object: object, Digest: content, DeletionCounts: deletionCounts,
		UnselectedSince: known.unselectedSince, SelectedBy: known.selectedBy}
	if w.Deleting() {
		w.DeletionSeen = known.deletion.see(object.DeletionTimestamp.Time, now)
	}
	if asked := known.askedFor(&w); asked != content {
		w.AcceptedAs = asked
	}
	return w
}

// askedFor returns what was asked for when the API server stored what a work holds; empty where that is not known. Of a work that this
// process wrote it knows the generation itself. Of the others the work says so, where an API server keeps it (R10).
func (w *knownWork) askedFor(work *rollout.Work) revision.Digest {
	if w.askedGeneration != 0 && w.askedGeneration == work.SpecGeneration() {
		return w.asked
	}
	asked, note := work.Noted()
	switch {
	case !work.DeletionCounts, note == rollout.NotedGeneration && w.askedGeneration != 0:
		return ""
	}
	return asked
}

// Digest says what a work's spec means.
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

// Settle notes whether a work is seen succeeding at a revision, and fills in since when. A success that was interrupted, or that
// is one of another revision, begins again (R10). Of a work that is being deleted it stays: its agent takes away what succeeded.
func (m *Works) Settle(w *rollout.Work, succeeds bool, now time.Time) {
	print, ahead := fingerprintOf(w), rollout.ClockIsAhead(w, now)
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

// fill fills in what this process saw of a work.
func (w *knownWork) fill(of *rollout.Work) {
	of.SucceededSince, of.StateChangedAt, of.ClockAhead = w.succeededSince, w.turnedAt, w.clockAhead
	of.WatchedSince, of.SettledAt = w.watchedSince, w.settledAt
}

// setBack takes times back that have not come yet: the clock was set back since this process saw them (R10).
func (w *knownWork) setBack(now time.Time) {
	for _, seen := range []*time.Time{
		&w.succeededSince, &w.turnedAt, &w.watchedSince, &w.settledAt, &w.unselectedSince, &w.aheadAt, &w.strippedAt,
	} {
		if seen.After(now) {
			*seen = now
		}
	}
}

// Settled notes that works were found settled (R11).
func (m *Works) Settled(works []*rollout.Work, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, w := range works {
		m.of(w.Object.UID).settledAt = now
	}
}

// Wrote notes which revision was written to a work. If the cache shows another content at the generation that came of it, that
// is how the API server accepted it (R10).
func (m *Works) Wrote(answer metav1.Object, wanted *rollout.Revision) {
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

// StrippedLately reports whether it was seen doing so, and is not to be asked again yet.
func (m *Works) StrippedLately(uid types.UID, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	seen := m.look(uid).strippedAt
	return !seen.IsZero() && now.Before(seen.Add(PrunedInterval))
}

// StaleInterval is how soon a pass that met a cache behind the API server looks again.
const StaleInterval = time.Second

// aheadCounts is for how long it counts that a cache was behind: the next look comes within StaleInterval.
const aheadCounts = 5 * StaleInterval

// Follows reports whether a cache that is behind the API server now shows what that had when it was behind the last time, a moment ago. One
// whose watch is dead does not.
func (m *Works) Follows(cached *workv1.ManifestWork, live string, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.of(cached.UID)
	before, at := known.ahead, known.aheadAt
	known.ahead, known.aheadAt = live, now
	return before != "" && now.Sub(at) <= aheadCounts && notOlder(cached.ResourceVersion, before)
}

// Difference says in which field a work differs from what was written to it; find is asked until it knows. It may ask the API
// server: mu is not held meanwhile.
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

// Shows reports whether a cached work holds what decides of a work that was read live. It trims the live one.
func (m *Works) Shows(cached, live *workv1.ManifestWork) bool { return m.digests.Shows(cached, live) }

// digest says what a spec means. One that can't be digested equals no revision, and is put back under the strategy.
func (m *Works) digest(object *workv1.ManifestWork) revision.Digest {
	if digest, trimmed := workcache.TrimmedDigest(object); trimmed {
		return digest
	}
	return m.digests.Of(&object.Spec)
}

// turn notes when a work that this process watches turns. What it was before the hub wrote it last says nothing.
func (w *knownWork) turn(succeeds, watched bool, now time.Time) {
	switch {
	case !watched:
		w.turnedAt, w.clockAhead = time.Time{}, false
	case succeeds != w.succeeds:
		w.turnedAt = now
	}
	w.succeeds = succeeds
}
