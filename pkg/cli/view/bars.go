package view

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
)

// Bar is the progress of a placementRef, or of one of its decision groups.
type Bar struct {
	Placement string `json:"placement"`
	// Group is the name of the decision group. It is empty for the whole placementRef.
	Group string `json:"group,omitempty"`
	// Done is the number of clusters at the intended revision, and Total is the number of selected clusters.
	Done  int `json:"done"`
	Total int `json:"total"`
	// Strategy describes the rollout strategy of a placementRef.
	Strategy string `json:"strategy,omitempty"`
	// Limit is the number of failed clusters that stops or aborts a rollout in progress, and LimitText describes the consequence. Limit
	// is zero if it is unknown, or if each group has its own limit.
	Limit     int    `json:"limit,omitempty"`
	LimitText string `json:"limitText,omitempty"`
}

// groupsShown is the maximum number of decision groups shown for a placementRef.
const groupsShown = 8

// bars returns the progress of each placementRef and of its decision groups. If the clusters are unknown, it uses the counts in the status.
func (o *Objects) bars(clusters []Cluster, known bool) []Bar {
	if !o.ReplicaSet.DeletionTimestamp.IsZero() {
		return nil
	}
	if !known {
		return o.countedBars()
	}
	finished, placements := map[string]map[string]bool{}, map[string]*placement.Placement{}
	for i := range clusters {
		c := &clusters[i]
		if finished[c.Placement] == nil {
			finished[c.Placement] = map[string]bool{}
		}
		finished[c.Placement][c.Name] = c.done()
	}
	refs, _ := o.refs()
	for i := range refs {
		placements[refs[i].Name] = refs[i].Placement
	}
	var bars []Bar
	for i := range o.ReplicaSet.Spec.PlacementRefs {
		ref := &o.ReplicaSet.Spec.PlacementRefs[i]
		bar := Bar{Placement: ref.Name, Strategy: strategy(ref)}
		for _, done := range finished[ref.Name] {
			bar.count(done)
		}
		bars = append(bars, bar)
		if selected := placements[ref.Name]; selected != nil && len(selected.Groups) > 1 {
			bars = append(bars, groupBars(ref.Name, selected.Groups, finished[ref.Name])...)
		}
	}
	return bars
}

func (b *Bar) count(done bool) {
	b.Total++
	if done {
		b.Done++
	}
}

// groupBars returns the progress of the decision groups. If there are many, it shows the first unfinished ones and sums up the others.
func groupBars(placement string, groups []placement.Group, finished map[string]bool) []Bar {
	var bars, others []Bar
	for i := range groups {
		bar := Bar{Placement: placement, Group: groups[i].Name}
		if bar.Group == "" {
			bar.Group = "group " + strconv.Itoa(int(groups[i].Index))
		}
		for _, cluster := range groups[i].Clusters {
			if done, counted := finished[cluster]; counted { // An earlier placementRef may have it.
				bar.count(done)
			}
		}
		if len(groups) > groupsShown && (bar.Done == bar.Total || len(bars) == groupsShown) {
			others = append(others, bar)
			continue
		}
		bars = append(bars, bar)
	}
	if len(others) == 0 {
		return bars
	}
	rest := Bar{Placement: placement, Group: fmt.Sprintf("%d other groups", len(others))}
	for i := range others {
		rest.Done, rest.Total = rest.Done+others[i].Done, rest.Total+others[i].Total
	}
	return append(bars, rest)
}

// countedBars returns the progress that the status counts. An abort is not counted for each placementRef.
func (o *Objects) countedBars() []Bar {
	if o.aborted() {
		return nil
	}
	summaries := map[string]*workv1alpha1.ManifestWorkReplicaSetSummary{}
	for i := range o.ReplicaSet.Status.PlacementsSummary {
		summaries[o.ReplicaSet.Status.PlacementsSummary[i].Name] = &o.ReplicaSet.Status.PlacementsSummary[i].Summary
	}
	var bars []Bar
	for i := range o.ReplicaSet.Spec.PlacementRefs {
		ref := &o.ReplicaSet.Spec.PlacementRefs[i]
		bar := Bar{Placement: ref.Name, Strategy: strategy(ref)}
		if summary := summaries[ref.Name]; summary != nil {
			bar.Total = selectedBy(o.ReplicaSet, summary)
			bar.Done = max(0, bar.Total-summary.Failed-summary.Waiting-summary.InFlight)
		}
		bars = append(bars, bar)
	}
	return bars
}

// selectedBy returns the number of selected clusters that a summary counts. During the first rollout, the waiting clusters have no work.
func selectedBy(rs *workv1alpha1.ManifestWorkReplicaSet, summary *workv1alpha1.ManifestWorkReplicaSetSummary) int {
	if rs.Status.CurrentRevision == "" {
		return summary.Total + summary.Waiting
	}
	return summary.Total
}

// Selected returns the number of selected clusters as the status counts them.
func Selected(rs *workv1alpha1.ManifestWorkReplicaSet) int { return selectedBy(rs, &rs.Status.Summary) }

// Desired returns the number of selected clusters as kubectl shows it. An older hub does not report it.
func Desired(rs *workv1alpha1.ManifestWorkReplicaSet) int {
	return cmp.Or(rs.Status.Summary.DesiredTotal, Selected(rs))
}

// strategy describes a rollout strategy.
func strategy(ref *workv1alpha1.LocalPlacementReference) string {
	parts := []string{"all at once"}
	s := &ref.RolloutStrategy
	switch {
	case s.Progressive != nil && s.Progressive.MaxConcurrency.String() != "" && s.Progressive.MaxConcurrency.String() != "0":
		parts = []string{s.Progressive.MaxConcurrency.String() + " at a time"}
	case s.Progressive != nil, s.ProgressivePerGroup != nil:
		parts = []string{"group by group"}
	}
	if s.FailureStrategy != "" {
		parts = append(parts, string(s.FailureStrategy))
	}
	return strings.Join(parts, ", ")
}

// summary returns one line with the number of clusters that confirmed the intended revision.
func (o *Objects) summary(clusters []Cluster, known bool, bars []Bar) string {
	if !o.ReplicaSet.DeletionTimestamp.IsZero() {
		if !known {
			return ""
		}
		return fmt.Sprintf("%d of %d clusters still have a ManifestWork", len(clusters), max(len(clusters), o.ReplicaSet.Status.Summary.Total))
	}
	done, total := 0, 0
	for i := range bars {
		if bars[i].Group == "" {
			done, total = done+bars[i].Done, total+bars[i].Total
		}
	}
	verb, wanted := "confirmed", o.ReplicaSet.Status.UpdateRevision
	if o.aborted() {
		wanted = o.ReplicaSet.Status.CurrentRevision
		if !known { // The status counts the clusters to which the hub wrote the revision.
			verb, done, total = "have", int(max(0, o.revisionAt(wanted).Now)), Selected(o.ReplicaSet)
		}
		restored, away := o.restoredAway(clusters)
		done, total = done+restored, total+away
	}
	if wanted == "" {
		return fmt.Sprintf("%d clusters", total)
	}
	return fmt.Sprintf("%d of %d clusters %s revision %s", done, total, verb, numberOf(o.numbers(), wanted))
}

// restoredAway returns how many clusters are away, and how many of them confirmed the revision to which an abort returns.
func (o *Objects) restoredAway(clusters []Cluster) (restored, away int) {
	current := numberOf(o.numbers(), o.ReplicaSet.Status.CurrentRevision)
	for _, c := range o.withAway(clusters) {
		if c.State != StateAway {
			continue
		}
		away++
		if c.Confirmed && c.Wrote == current {
			restored++
		}
	}
	return restored, away
}
