package rollout

import (
	"slices"
	"time"
)

// How long a cluster must have been unselected without interruption before its work is deleted: OCM writes decisions in
// slices, one after the other, and a cluster that moves between slices is in none of them for a moment (R8).
const (
	unselectedFor          = 5 * time.Second
	unselectedForUnmatched = 15 * time.Second
)

// remove deletes the works of clusters that nothing selects, and surplus works. While a Placement is missing, or has no
// decision at all, nothing is deleted: that nothing is selected can't be told from that nothing is known (R8).
func (p *Plan) remove(s *Snapshot, owners map[string]int, byCluster map[string]*Work, surplus []*Work) {
	if !SelectionKnown(s.Refs) {
		return
	}
	for _, w := range surplus {
		p.Deletes = append(p.Deletes, Delete{Work: w, Why: "the cluster has another work of this owner"})
	}
	wait := unselectedFor
	if !p.decisionsKnown() {
		wait = unselectedForUnmatched
	}
	var unselected []string
	for cluster, w := range byCluster {
		if _, selected := owners[cluster]; !selected && !w.Deleting() {
			unselected = append(unselected, cluster)
		}
	}
	slices.Sort(unselected)
	for _, cluster := range unselected {
		p.removeUnselected(s, byCluster[cluster], wait)
	}
}

func (p *Plan) removeUnselected(s *Snapshot, w *Work, wait time.Duration) {
	since := w.UnselectedSince
	if since.IsZero() {
		since = s.Now
	}
	if due := since.Add(wait); s.Now.Before(due) {
		p.recheckAt(s.Now, due)
		return
	}
	p.Writes = slices.DeleteFunc(p.Writes, func(write Write) bool { return write.Work == w })
	p.Deletes = append(p.Deletes, Delete{Work: w, Why: "no placement selects the cluster"})
}

// SelectionKnown says that every Placement is there and has at least one PlacementDecision: otherwise a cluster that nothing
// selects may well be selected.
func SelectionKnown(refs []Ref) bool {
	for i := range refs {
		if refs[i].Placement == nil || refs[i].Placement.Decisions == 0 {
			return false
		}
	}
	return true
}
