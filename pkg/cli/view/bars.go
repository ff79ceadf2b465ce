package view

import (
	"cmp"
	"fmt"
	"strings"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
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
	// Limit is the number of failed clusters that stops or aborts a rollout in progress, and LimitText describes the consequence. Limit is
	// zero if the number is unknown, or if each group has its own limit.
	Limit     int    `json:"limit,omitempty"`
	LimitText string `json:"limitText,omitempty"`
}

// groupsShown is the maximum number of decision groups shown for a placementRef.
const groupsShown = 8

// bars returns the progress of each placementRef and of its decision groups. If the clusters are unknown, it uses the counts in the status.
func (o *Objects) bars() []Bar {
	clusters, known := o.clusters()
	if !o.ReplicaSet.DeletionTimestamp.IsZero() || !known && o.aborted() { // An abort is not counted for each placementRef.
		return nil
	}
	groups := GroupsOf(o, clusters)
	complete := StateOf(o.ReplicaSet) == workv1alpha1.StateComplete // An undo after an abort is complete at once, while its clusters soak.
	var bars []Bar
	for i := range o.ReplicaSet.Spec.PlacementRefs {
		ref := &o.ReplicaSet.Spec.PlacementRefs[i]
		bar := Bar{Placement: ref.Name, Strategy: strategy(ref)}
		if l := o.known.outlook(); l != nil && i < len(l.limits) {
			bar.Limit, bar.LimitText = l.limit(i)
		}
		if !known {
			bars = append(bars, *o.counted(&bar))
			continue
		}
		var parts []Bar
		for g := range groups {
			if groups[g].Placement != ref.Name {
				continue
			}
			part := Bar{Placement: ref.Name, Group: groups[g].Name, Total: len(groups[g].Clusters)}
			for k := range groups[g].Clusters {
				if c := &groups[g].Clusters[k]; c.done() || complete && c.State == rollout.PhaseSoaking {
					part.Done++
				}
			}
			bar.add(&part)
			if part.Group != "" {
				parts = append(parts, part)
			}
		}
		bars = append(append(bars, bar), summed(parts)...)
	}
	return bars
}

func (b *Bar) add(part *Bar) {
	b.Done, b.Total = b.Done+part.Done, b.Total+part.Total
}

// summed returns the bars of the decision groups. If there are many, the first unfinished ones have a bar each, and the others share one.
func summed(groups []Bar) (bars []Bar) {
	others := 0
	var rest Bar
	for i := range groups {
		if len(groups) > groupsShown && (groups[i].Done == groups[i].Total || len(bars) == groupsShown) {
			others++
			rest.Placement = groups[i].Placement
			rest.add(&groups[i])
			continue
		}
		bars = append(bars, groups[i])
	}
	if others > 0 {
		rest.Group = fmt.Sprintf("%d other groups", others)
		bars = append(bars, rest)
	}
	return bars
}

// counted fills in the progress of a placementRef that the status counts.
func (o *Objects) counted(bar *Bar) *Bar {
	for i := range o.ReplicaSet.Status.PlacementsSummary {
		if found := &o.ReplicaSet.Status.PlacementsSummary[i]; found.Name == bar.Placement {
			bar.Total = selectedBy(&found.Summary)
			bar.Done = max(0, bar.Total-found.Summary.Failed-found.Summary.Waiting-found.Summary.InFlight-found.Summary.Held)
		}
	}
	return bar
}

// selectedBy returns the number of selected clusters in a summary. OCM's CRD drops that count; then the number of ManifestWorks is used.
func selectedBy(summary *workv1alpha1.ManifestWorkReplicaSetSummary) int {
	return cmp.Or(summary.DesiredTotal, summary.Total)
}

// Selected returns the number of selected clusters as the status counts them.
func Selected(rs *workv1alpha1.ManifestWorkReplicaSet) int { return selectedBy(&rs.Status.Summary) }

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
func (o *Objects) summary(bars []Bar) string {
	clusters, known := o.clusters()
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
			verb, done, total = "were sent", int(max(0, o.revisionAt(wanted).Now)), Selected(o.ReplicaSet)
		}
		for _, c := range Clusters(o) {
			if c.State != StateAway {
				continue
			}
			if total++; o.hasReturned(&c) {
				done++
			}
		}
	}
	if wanted == "" {
		return fmt.Sprintf("%d clusters", total)
	}
	return fmt.Sprintf("%d of %d clusters %s revision %s", done, total, verb, o.number(wanted))
}

// hasReturned reports whether a cluster has the revision to which an abort returns it. A cluster that is away counts by its last report.
func (o *Objects) hasReturned(c *Cluster) bool {
	return c.done() || c.State == StateAway && c.Confirmed && c.Wrote == CurrentNumber(o)
}
