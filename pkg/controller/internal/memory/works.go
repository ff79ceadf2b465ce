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

// Works holds what this process knows about the ManifestWorks of an object, by UID. A recreated work of the same name
// is therefore unknown.
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

// Read returns the works that a pass sees, with the data that decisions need, and the remembered state of each. It
// forgets all other works.
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

// Shows reports whether a cached work is equal to a live work in all fields that affect decisions. It trims the live work.
func (m *Works) Shows(cached, live *workv1.ManifestWork) bool { return m.digests.Shows(cached, live) }

// Work holds what this process knows about one work. The zero value means that nothing is known. It needs no lock: at
// most, a pass writes the spec and the metadata of a work concurrently, and these writes use different fields.
type Work struct {
	// content is the digest of the spec at a generation.
	content           revision.Digest
	contentGeneration int64
	// read is the work as it was last read from the cache.
	read work.Work

	// observed is what this process has observed of the work.
	observed work.Observations
	// fingerprint is the fingerprint of the last report, and succeeds is true if that report was a success.
	fingerprint fingerprint
	succeeds    bool
	// deletion is the time at which the deletion of the work was first seen.
	deletion sighting

	// asked is the content that was last written, and askedGeneration is the generation that resulted from the write.
	asked           revision.Digest
	askedGeneration int64
	// difference is the name of the field that differs from the last write.
	difference string

	// ahead is the version in the API server when the cache was last found to be behind, and aheadAt is the time of
	// that check.
	ahead   string
	aheadAt time.Time

	// strippedAt is the time at which the API server last dropped labels or annotations that were written; zero if it kept
	// them at the last write.
	strippedAt time.Time
}

// Selection is whether and how the Placements select the cluster of a work.
type Selection struct {
	// Selected is true if a Placement selects the cluster.
	Selected bool
	// Unknown is true if a Placement may select the cluster, because it is missing or has no decisions yet.
	Unknown bool
	// Left is true if the Placement in the work's label does not select the cluster, but OCM may still be writing the
	// Placement's decisions.
	Left bool
	// Sliced lists the Placements with several decision slices that select the cluster.
	Sliced []string
}

// look returns a cached work with the data that decisions need. A cache replaces an object and never modifies it, so
// each object is read only once. A spec is digested once per generation (P8). A spec without a digest matches no
// revision, and is restored under the strategy.
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
		// The unselected time begins only when the selected clusters are known.
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
	// Watch fills in when a success settled, and Settle fills in the other observations of a success. Until then, only the
	// agent's report counts.
	seen.UnselectedSince, seen.LeftSince, seen.SelectedBy = o.UnselectedSince, o.LeftSince, o.SelectedBy
	seen.DeletionCounts = deletionCounts
	if seen.Deleting() {
		seen.DeletionSeen = w.deletion.see(seen.Object.DeletionTimestamp.Time, now)
	}
	if asked := w.askedFor(seen); asked != seen.Digest {
		seen.AcceptedAs = asked
	}
}

// askedFor returns the digest of the spec that the hub requested when the API server stored a work's current spec;
// empty if it is unknown. For works that this process wrote, it compares the generation. For other works it reads the
// work's annotation, if the API server keeps it.
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

// Watch resets the observations if the hub wrote the work after the last report. It also fills in the time at which a
// success of this write settled. Success gates do not change a settled success, so the time must be known before Settle.
func (w *Work) Watch(seen *work.Work, now time.Time) {
	o := &w.observed
	if print := fingerprintOf(seen); !w.fingerprint.sameWrite(&print) {
		o.WatchedSince, o.SettledAt, o.StateChangedAt, o.ClockAhead = now, time.Time{}, time.Time{}, false
	}
	seen.SettledAt = o.SettledAt
}

// Settle records whether a work is observed as successful at a revision, and fills in the time since which it has been.
// The time restarts if the success was interrupted, or is a success at another revision. It is kept for a work that is
// being deleted, because the agent removes the objects that succeeded.
func (w *Work) Settle(seen *work.Work, succeeds bool, now time.Time) {
	print := fingerprintOf(seen)
	watched := w.fingerprint.sameWrite(&print)
	o := &w.observed
	if !seen.Deleting() || !watched || o.SucceededSince.IsZero() {
		interrupted := !o.SucceededSince.IsZero() && (!succeeds || w.fingerprint != print)
		switch {
		case !succeeds:
			o.SucceededSince = time.Time{}
		case o.SucceededSince.IsZero() || interrupted:
			o.SucceededSince = now
		}
		o.Relapsed = watched && (o.Relapsed || interrupted)
		if watched && succeeds != w.succeeds {
			o.StateChangedAt = now
		}
		o.ClockAhead = o.ClockAhead || work.ClockIsAhead(seen, now)
		w.fingerprint, w.succeeds = print, succeeds
	}
	seen.Observations = *o
}

// fingerprint distinguishes two reports from an agent, even if both report success.
type fingerprint struct {
	generation int64
	report     work.Report
}

func fingerprintOf(seen *work.Work) fingerprint {
	return fingerprint{generation: seen.SpecGeneration(), report: seen.Report()}
}

// sameWrite reports whether the hub wrote no revision between two reports.
func (f *fingerprint) sameWrite(other *fingerprint) bool {
	return f.generation == other.generation && f.report.AppliedAt == other.report.AppliedAt
}

// Settled records that a work was found settled.
func (w *Work) Settled(now time.Time) { w.observed.SettledAt = now }

// Wrote records the revision that was written to a work. If the cache shows different content at the generation of that
// write, the API server changed the content. The next report is about this write, even if its time is that of an earlier
// write: the clock may have been set back in between.
func (w *Work) Wrote(answer metav1.Object, wanted *work.Revision) {
	w.fingerprint = fingerprint{}
	w.asked, w.askedGeneration, w.difference = wanted.Digest, answer.GetGeneration(), ""
}

// Stripped records whether the API server dropped labels or annotations that were written to a work.
func (w *Work) Stripped(stripped bool, now time.Time) {
	w.strippedAt = time.Time{}
	if stripped {
		w.strippedAt = now
	}
}

// StrippedLately reports whether the API server dropped them so recently that the write must not be retried yet.
func (w *Work) StrippedLately(now time.Time) bool { return lately(w.strippedAt, now, PrunedInterval) }

// StaleInterval is the time after which a pass is repeated if it found the cache behind the API server.
const StaleInterval = time.Second

// aheadCounts is the time for which the result of such a check is valid. The next pass comes within StaleInterval.
const aheadCounts = 5 * StaleInterval

// Follows reports whether a cache that is behind the API server has at least caught up with the version that it lacked
// at the last check. A cache with a dead watch has not.
func (w *Work) Follows(cached *workv1.ManifestWork, live string, now time.Time) bool {
	before, at := w.ahead, w.aheadAt
	w.ahead, w.aheadAt = live, now
	return before != "" && now.Sub(at) <= aheadCounts && notOlder(cached.ResourceVersion, before)
}

// Difference returns the field in which a work differs from the last write. It calls find until find returns a field.
func (w *Work) Difference(find func() string) string {
	if w.difference == "" {
		w.difference = find()
	}
	return w.difference
}
