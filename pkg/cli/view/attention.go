package view

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// Alike is one cluster, or several clusters that differ only in their names and times.
type Alike struct {
	// Cluster is the first of the clusters. Its Since and ChangesAt are the earliest of all.
	Cluster
	// Names are the names of the clusters, sorted.
	Names []string `json:"names"`
}

// Count is a number of clusters in a state.
type Count struct {
	State State `json:"state"`
	// For is the event that waiting clusters wait for. It is empty for all other states.
	For      rollout.Wait `json:"for,omitempty"`
	Clusters int          `json:"clusters"`
}

const (
	// attentionShown is the maximum number of rows in Fleet.Attention.
	attentionShown = 15
	// alikeShown is the minimum number of similar clusters that share one row.
	alikeShown = 4
)

// attention splits clusters, sorted by urgency, into the rows of those that need attention and the counts of the others.
func attention(clusters []Cluster) (rows []Alike, rest []Count) {
	groups, counts := map[Cluster][]*Cluster{}, map[Count]int{}
	for i := range clusters {
		switch c := &clusters[i]; {
		case c.State == rollout.PhaseWaiting:
			counts[Count{State: c.State, For: c.WaitsFor}]++
		case c.done():
			counts[Count{State: c.State}]++
		default:
			groups[c.look()] = append(groups[c.look()], c)
		}
	}
	for _, alike := range groups {
		together := 1
		if len(alike) >= alikeShown {
			together = len(alike)
		}
		for group := range slices.Chunk(alike, together) {
			rows = append(rows, rowOf(group))
		}
	}
	slices.SortFunc(rows, func(a, b Alike) int {
		return cmp.Or(cmp.Compare(rank(a.State), rank(b.State)), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Message, b.Message))
	})
	for i := attentionShown; i < len(rows); i++ {
		counts[Count{State: rows[i].State}] += len(rows[i].Names)
	}
	return rows[:min(len(rows), attentionShown)], sorted(counts)
}

// rowOf returns the row of clusters in the same situation.
func rowOf(clusters []*Cluster) Alike {
	row := Alike{Cluster: *clusters[0]}
	for _, c := range clusters {
		row.Names = append(row.Names, c.Name)
		row.Since, row.ChangesAt = earlier(row.Since, c.Since), earlier(row.ChangesAt, c.ChangesAt)
	}
	return row
}

// look returns the fields that similar clusters have in common.
func (c *Cluster) look() Cluster {
	return Cluster{
		State: c.State, Wrote: c.Wrote, Confirmed: c.Confirmed, WaitsFor: c.WaitsFor, Then: c.Then, Reason: c.Reason, Message: c.Message,
	}
}

// earlier returns the earlier of two times. A zero time is unknown.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// sorted returns the counts, the most urgent state first.
func sorted(counts map[Count]int) []Count {
	out := make([]Count, 0, len(counts))
	for found, n := range counts {
		found.Clusters = n
		out = append(out, found)
	}
	slices.SortFunc(out, func(a, b Count) int {
		return cmp.Or(cmp.Compare(rank(a.State), rank(b.State)), cmp.Compare(a.State, b.State),
			cmp.Compare(b.Clusters, a.Clusters), cmp.Compare(a.For, b.For))
	})
	return out
}

// Text describes the count, with the reason why clusters wait.
func (c Count) Text() string {
	text := fmt.Sprintf("%d %s", c.Clusters, c.State)
	switch {
	case c.State != rollout.PhaseWaiting:
		return text
	case c.For == rollout.WaitNothing:
		return text + ": the hub writes to them next"
	}
	return text + " for " + WaitText(c.For)
}
