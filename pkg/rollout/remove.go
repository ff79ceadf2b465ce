package rollout

import (
	"slices"
	"time"

	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// How long a cluster must have been unselected without interruption before its work is deleted. OCM writes decisions in slices, one after
// the other, and a cluster that moves between slices is in none of them until the last slice is written. OCM also creates a decision
// before it writes the clusters into it.
const (
	unselectedFor = 5 * time.Second
	// unselectedForUnmatched applies while the decisions do not match the Placements' own counts.
	unselectedForUnmatched = 15 * time.Second
	// unselectedForWritten applies to Placements with several slices or an empty slice. The placement controller can die between two
	// requests, and its successor writes the rest only after the leader lease of 137 s has expired.
	unselectedForWritten = 3 * time.Minute
)

// MoveWait is how long a cluster must have been in no decision of a Placement with several decisions before it counts as removed.
const MoveWait = unselectedForWritten

// remove deletes the works of clusters that nothing selects, and surplus works. While a Placement is missing or has no decision, nothing
// is deleted: an empty selection and an unknown selection look the same.
func (p *Plan) remove(s *Snapshot, sel *selection) {
	if !placement.SelectionKnown(s.Refs, s.IgnoredRefs) {
		return
	}
	for _, w := range sel.surplus {
		if away, _ := s.away(w.Cluster()); away && sel.find(w.Cluster()) == nil {
			continue
		}
		p.Deletes = append(p.Deletes, Delete{Work: w, Why: "the cluster has another work of this owner"})
	}
	wait, written := removalWait(s.Refs), writtenPlacements(s.Refs)
	removed := map[*work.Work]bool{}
	for _, w := range sel.unselected {
		if !sel.staying[w.Cluster()].selected && p.removeUnselected(s, w, max(wait, writtenWait(written, w))) {
			removed[w] = true
		}
	}
	if len(removed) > 0 {
		p.Writes = slices.DeleteFunc(p.Writes, func(write Write) bool { return removed[write.Work] })
	}
}

// removalWait returns the wait that applies to every work. A Placement whose decisions are empty may be about to select any cluster,
// unless its status shows that it selects none.
func removalWait(refs []placement.Ref) time.Duration {
	mayFill := func(ref placement.Ref) bool { return ref.Placement.Empty() && ref.MayBeWritten() }
	switch {
	case slices.ContainsFunc(refs, mayFill):
		return unselectedForWritten
	case slices.ContainsFunc(refs, func(ref placement.Ref) bool { return !ref.Settled() }):
		return unselectedForUnmatched
	}
	return unselectedFor
}

// writtenPlacements returns the names of the Placements whose decisions OCM may be writing.
func writtenPlacements(refs []placement.Ref) map[string]bool {
	written := map[string]bool{}
	for i := range refs {
		if refs[i].MayBeWritten() {
			written[refs[i].Name] = true
		}
	}
	return written
}

// writtenWait returns the wait for a work whose cluster may be moving between two slices of a Placement. A placementRef that a user
// removed from the spec does not count.
func writtenWait(written map[string]bool, w *work.Work) time.Duration {
	if written[w.PlacementName()] || slices.ContainsFunc(w.SelectedBy, func(name string) bool { return written[name] }) {
		return unselectedForWritten
	}
	return 0
}

// after returns the time at which a state that was first seen at a given time will have lasted for the given wait. The state may have
// changed during the last gap, so the wait restarts after that gap.
func (s *Snapshot) after(seen time.Time, wait time.Duration) time.Time {
	return work.Later(seen, s.Gap.End).Add(wait)
}

// removeUnselected deletes a work whose cluster has been unselected for long enough, and reports whether it does so. A work whose cluster
// is away stays.
func (p *Plan) removeUnselected(s *Snapshot, w *work.Work, wait time.Duration) bool {
	if away, _ := s.away(w.Cluster()); away {
		return false
	}
	since := w.UnselectedSince
	if since.IsZero() {
		since = s.Now
	}
	if due := s.after(since, wait); s.Now.Before(due) {
		p.recheckAt(s.Now, due)
		return false
	}
	p.Deletes = append(p.Deletes, Delete{Work: w, Why: "no placement selects the cluster"})
	return true
}
