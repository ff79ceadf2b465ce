package memory

import (
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
	"github.com/open-cluster-management-io/work-rollback/pkg/workcache"
)

// Works is this process's knowledge about the ManifestWorks of an object, by UID, so a recreated work of the same name is unknown.
type Works struct {
	digests *workcache.Digests

	mu    sync.Mutex
	known map[types.UID]*Work
}

// WorkOf returns the state that this process remembers for a work. The state is kept until a pass no longer sees the work.
func (m *Works) WorkOf(uid types.UID) *Work {
	m.mu.Lock()
	defer m.mu.Unlock()
	found := m.known[uid]
	if found == nil {
		if m.known == nil {
			m.known = map[types.UID]*Work{}
		}
		found = &Work{}
		m.known[uid] = found
	}
	return found
}

// Read returns the works that a pass sees, with what decisions need of their objects and with what is known of them. It forgets all others.
func (m *Works) Read(objects []*workv1.ManifestWork) (works []work.Work, known []*Work) {
	works, known = make([]work.Work, 0, len(objects)), make([]*Work, 0, len(objects))
	for _, object := range objects {
		of := m.WorkOf(object.UID)
		works, known = append(works, of.look(object, m.digests)), append(known, of)
	}
	if m.mu.Lock(); len(m.known) > len(objects) {
		m.known = make(map[types.UID]*Work, len(objects))
		for i, object := range objects {
			m.known[object.UID] = known[i]
		}
	}
	m.mu.Unlock()
	return works, known
}

// Shows reports whether a cached work has all deciding fields of a work that was read live. It trims the live one.
func (m *Works) Shows(cached, live *workv1.ManifestWork) bool { return m.digests.Shows(cached, live) }

// Work is the knowledge about one work. In the zero value nothing is known. It has no lock: at most, a pass writes the
// spec and the metadata of a work at the same time, and the two use different fields.
type Work struct {
	// content is the digest of the spec at a generation.
	content           revision.Digest
	contentGeneration int64
	// read is the work as it was last read from the cache.
	read work.Work

	// observed is what this process has observed of the work.
	observed work.Observations
	// fingerprint is that of the last report, and succeeds is true if the work succeeded then.
	fingerprint fingerprint
	succeeds    bool
	// deletion is when the deletion of the work was first seen.
	deletion sighting

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

// look returns a work of the cache with what decisions need of its object. A cache replaces an object and never changes it, so the same
// object is read once. A spec is digested once per generation (P8). A spec without a digest matches no revision, and is restored under the
// strategy.
func (w *Work) look(object *workv1.ManifestWork, digests *workcache.Digests) work.Work {
	if w.read.Object == object {
		return w.read
	}
	if w.contentGeneration != object.Generation {
		w.contentGeneration = object.Generation
		if digest, trimmed := workcache.TrimmedDigest(object); trimmed {
			w.content = digest
		} else {
			w.content = digests.DigestOf(&object.Spec)
		}
	}
	w.read = work.Work{Object: object, Digest: w.content}
	w.read.Read()
	return w.read
}

// Note adds the information that a decision needs to a work that already has its object and digest. deletionCounts is true if a deletion
// increments the generation, as in the API server.
func (w *Work) Note(seen *work.Work, by Selection, deletionCounts bool, now time.Time) {
	o := &w.observed
	setBack(now, &o.SucceededSince, &o.StateChangedAt, &o.WatchedSince, &o.SettledAt, &o.UnselectedSince, &o.LeftSince)
	setBack(now, &w.aheadAt, &w.strippedAt)
	switch {
	case by.Unknown:
		// The time of being unselected begins once it is known which clusters are selected.
		o.UnselectedSince = time.Time{}
	case by.Selected:
		o.UnselectedSince, o.SelectedBy = time.Time{}, by.Sliced
	case o.UnselectedSince.IsZero():
		o.UnselectedSince = now
	}
	switch {
	case !by.Left:
		o.LeftSince = time.Time{}
	case o.LeftSince.IsZero():
		o.LeftSince = now
	}
	// What was observed of a success is filled in by Settle: until then, only the agent's report counts.
	seen.UnselectedSince, seen.LeftSince, seen.SelectedBy = o.UnselectedSince, o.LeftSince, o.SelectedBy
	seen.DeletionCounts = deletionCounts
	if seen.Deleting() {
		seen.DeletionSeen = w.deletion.see(seen.Object.DeletionTimestamp.Time, now)
	}
	if asked := w.askedFor(seen); asked != seen.Digest {
		seen.AcceptedAs = asked
	}
}

// askedFor returns the digest of the spec that the hub requested when the API server stored a work's current spec; empty if that is not
// known. For works that this process wrote, it knows the generation. For others it reads the work's annotation, if an API server keeps it.
func (w *Work) askedFor(mw *work.Work) revision.Digest {
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

// Settle notes whether a work is seen succeeding at a revision, and fills in when that began. The time restarts if the success was
// interrupted, or is a success at another revision. For a work that is being deleted it stays: its agent removes the objects that
// succeeded.
func (w *Work) Settle(seen *work.Work, succeeds bool, now time.Time) {
	print := fingerprint{generation: seen.SpecGeneration(), report: seen.Report()}
	watched := w.fingerprint.sameWrite(&print)
	o := &w.observed
	if !seen.Deleting() || !watched || o.SucceededSince.IsZero() {
		switch {
		case !succeeds:
			o.SucceededSince = time.Time{}
		case o.SucceededSince.IsZero() || w.fingerprint != print:
			o.SucceededSince = now
		}
		switch {
		case !watched:
			o.WatchedSince, o.SettledAt, o.StateChangedAt, o.ClockAhead = now, time.Time{}, time.Time{}, false
		case succeeds != w.succeeds:
			o.StateChangedAt = now
		}
		o.ClockAhead = o.ClockAhead || work.ClockIsAhead(seen, now)
		w.fingerprint, w.succeeds = print, succeeds
	}
	seen.Observations = *o
}

// fingerprint distinguishes two reports of an agent, even if both report success.
type fingerprint struct {
	generation int64
	report     work.Report
}

// sameWrite reports whether the hub wrote no revision between two reports.
func (f *fingerprint) sameWrite(other *fingerprint) bool {
	return f.generation == other.generation && f.report.AppliedAt == other.report.AppliedAt
}

// Settled notes that a work was found settled.
func (w *Work) Settled(now time.Time) { w.observed.SettledAt = now }

// Wrote notes which revision was written to a work. If the cache shows different content at the generation of that write, the API server
// stored it so.
func (w *Work) Wrote(answer metav1.Object, wanted *work.Revision) {
	w.asked, w.askedGeneration, w.difference = wanted.Digest, answer.GetGeneration(), ""
}

// Stripped notes whether the API server did not keep labels or annotations that were written to a work.
func (w *Work) Stripped(stripped bool, now time.Time) {
	w.strippedAt = time.Time{}
	if stripped {
		w.strippedAt = now
	}
}

// StrippedLately reports whether the API server recently did so, so that the write is not tried again yet.
func (w *Work) StrippedLately(now time.Time) bool { return lately(w.strippedAt, now, PrunedInterval) }

// StaleInterval is how soon a pass that found the cache behind the API server is repeated.
const StaleInterval = time.Second

// aheadCounts is how long the finding that a cache was behind counts: the next pass comes within StaleInterval.
const aheadCounts = 5 * StaleInterval

// Follows reports whether a cache that is behind the API server has since caught up with the version that it lacked the last time, a
// moment ago. A cache with a dead watch has not.
func (w *Work) Follows(cached *workv1.ManifestWork, live string, now time.Time) bool {
	before, at := w.ahead, w.aheadAt
	w.ahead, w.aheadAt = live, now
	return before != "" && now.Sub(at) <= aheadCounts && notOlder(cached.ResourceVersion, before)
}

// Difference returns the field in which a work differs from the last write. It calls find until that returns a field.
func (w *Work) Difference(find func() string) string {
	if w.difference == "" {
		w.difference = find()
	}
	return w.difference
}
