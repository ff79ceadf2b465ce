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
func attention(clusters []Cluster) ([]Alike, []Count) {
	var rows []Alike
	at := map[Cluster]int{}
	counts := map[Count]int{}
	count := func(c *Cluster) {
		key := Count{State: c.State}
		if c.State == StateWaiting {
			key.For = c.WaitsFor
		}
		counts[key]++
	}
	for i := range clusters {
		c := &clusters[i]
		if c.done() || c.State == StateWaiting {
			count(c)
			continue
		}
		look := c.look()
		row, known := at[look]
		if !known {
			row, at[look] = len(rows), len(rows)
			rows = append(rows, Alike{Cluster: *c})
		}
		rows[row].add(c)
	}
	rows = separated(rows, clusters)
	for i := attentionShown; i < len(rows); i++ {
		counts[Count{State: rows[i].State}] += len(rows[i].Names)
	}
	return rows[:min(len(rows), attentionShown)], sorted(counts)
}

// look returns what clusters that are alike have in common.
func (c *Cluster) look() Cluster {
	return Cluster{
		State: c.State, Wrote: c.Wrote, Confirmed: c.Confirmed, WaitsFor: c.WaitsFor, Then: c.Then, Reason: c.Reason, Message: c.Message,
	}
}

func (a *Alike) add(c *Cluster) {
	a.Names = append(a.Names, c.Name)
	a.Since, a.ChangesAt = earlier(a.Since, c.Since), earlier(a.ChangesAt, c.ChangesAt)
}

// earlier returns the earlier of two times, of which zero is unknown.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// separated gives each cluster of a small row a row of its own.
func separated(rows []Alike, clusters []Cluster) (out []Alike) {
	small := map[string]bool{}
	for i := range rows {
		if len(rows[i].Names) >= alikeShown {
			out = append(out, rows[i])
			continue
		}
		for _, name := range rows[i].Names {
			small[name] = true
		}
	}
	for i := range clusters {
		if c := &clusters[i]; small[c.Name] {
			out = append(out, Alike{Cluster: *c, Names: []string{c.Name}})
		}
	}
	slices.SortStableFunc(out, func(a, b Alike) int { return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.Name, b.Name)) })
	return out
}

// sorted returns the counts, the most urgent state first.
func sorted(counts map[Count]int) []Count {
	out := make([]Count, 0, len(counts))
	for found, n := range counts {
		found.Clusters = n
		out = append(out, found)
	}
	slices.SortFunc(out, func(a, b Count) int {
		return cmp.Or(cmp.Compare((&Cluster{State: a.State}).rank(), (&Cluster{State: b.State}).rank()), cmp.Compare(a.State, b.State),
			cmp.Compare(b.Clusters, a.Clusters), cmp.Compare(a.For, b.For))
	})
	return out
}

// Text describes the count, with the reason why clusters wait.
func (c Count) Text() string {
	text := fmt.Sprintf("%d %s", c.Clusters, c.State)
	switch {
	case c.State != StateWaiting:
		return text
	case c.For == rollout.WaitNothing:
		return text + ": the hub writes to them next"
	}
	return text + " for " + WaitText(c.For)
}
