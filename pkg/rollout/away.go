package rollout

import (
	"slices"
	"time"

	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// Which clusters are away, and the consequences (R8a):
//
//  1. OCM drops an unavailable cluster from its Placements. Such a cluster is away until it has been available for a minute, or until its
//     ManagedCluster is deleted. If the hub can't read ManagedClusters, no cluster is away.
//  2. The work of a cluster that is away is not deleted (remove), and is not handed over to another placementRef that selects the cluster
//     (stayOf).
//  3. Such a work counts for its placementRef and decision group only if it has the update revision. It then takes a slot, is awaited, and
//     fails at its deadline, as if the cluster were selected (addLeaving, reached). Otherwise, nothing is started on the cluster, and
//     nothing waits for it.
//  4. An abort restores such a work like any other (planRollback), and is not confirmed until the cluster has confirmed it (restoreAway).

// availableFor is the time for which a cluster must have been available before it no longer counts as away.
const availableFor = time.Minute

// AwayCluster is a cluster that no placementRef selects because it is, or recently was, unavailable.
type AwayCluster struct {
	Cluster string
	// Placement is the Placement that the work of the cluster names.
	Placement string
	// Since is the time at which the cluster became unavailable; zero if that is unknown.
	Since time.Time
	// Counts is true if the cluster has the update revision: it counts for its placementRef.
	Counts bool
	// Skipped is true if a placementRef selects the cluster but skips it.
	Skipped bool
}

// away reports whether a cluster that nothing selects is away. until is the time at which that state ends by itself; zero if it does not.
func (s *Snapshot) away(cluster string) (away bool, until time.Time) {
	known, exists := s.Clusters[cluster]
	switch {
	case !exists:
		return false, time.Time{}
	case !known.Available:
		return true, time.Time{}
	}
	until = s.after(known.AvailableSince, availableFor)
	return s.Now.Before(until), until
}

// noteAway records the clusters that are away, and the time of the next change.
func (p *Plan) noteAway(s *Snapshot, sel *selection) {
	if !placement.SelectionKnown(s.Refs, s.IgnoredRefs) {
		return
	}
	for _, w := range sel.unselected {
		away, until := s.away(w.Cluster())
		if !away {
			continue
		}
		p.recheckAt(s.Now, until)
		if index, named := sel.first[w.PlacementName()]; named { // The work stays: only a recheck ends the wait (moving).
			p.recheckAt(s.Now, s.leftUntil(index, w))
		}
		p.Away = append(p.Away, AwayCluster{
			Cluster: w.Cluster(), Placement: w.PlacementName(), Since: s.Clusters[w.Cluster()].UnavailableSince,
			Counts: w.At(s.Update) || s.hasFailed(w.Cluster()),
		})
		if s.Aborted && s.Current != nil {
			p.restoreAway(s, w)
		}
	}
	p.noteAwayUnheard(s)
}

// noteAwayUnheard records the clusters that are still away and whose works are unknown. None of them has confirmed an abort.
func (p *Plan) noteAwayUnheard(s *Snapshot) {
	for _, known := range s.AwayUnheard {
		away, until := s.away(known.Cluster)
		if !away {
			continue
		}
		p.recheckAt(s.Now, until)
		p.Away = append(p.Away, known)
		if s.Aborted && s.Current != nil {
			p.awayRestorable++
			p.AwaitedAway = append(p.AwaitedAway, known.Cluster)
		}
	}
	slices.Sort(p.AwaitedAway)
}

// restoreAway counts the work of a cluster that is away among those that an abort restores.
func (p *Plan) restoreAway(s *Snapshot, w *work.Work) {
	p.awayRestorable++
	confirms := w.At(s.Current) && work.Assess(w, s.Current, s.Now).State == work.Succeeded
	if !confirms || !p.confirmWork(s, w) {
		p.AwaitedAway = append(p.AwaitedAway, w.Cluster())
	}
}

// neverSucceeded reports whether a member never had a settled success with the update revision. The member has that revision, but nothing
// selects its cluster any more. If its work is being deleted, the state before the deletion applies, because its agent then removes the
// workload. A process that began to watch after the deletion can't tell whether the agent has reported since.
func (m *member) neverSucceeded(s *Snapshot) bool {
	switch w := m.work; {
	case m.passed(s):
		return false
	case !w.Deleting():
		return true
	default:
		return w.SucceededSince.IsZero() && (!w.WatchedSince.After(w.DeletedAt()) || !w.ReportedSinceDeletion())
	}
}
