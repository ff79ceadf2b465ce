package report

import (
	"cmp"
	"slices"
	"strings"
)

// find returns the figures of a controller in a scenario; nil for none. Of several rounds it is the one in the middle, by the time until the
// last write.
func (r *Run) find(scenario, controller string, clusters, sets int) *Figures {
	var rounds []*Figures
	for i := range r.Figures {
		f := &r.Figures[i]
		if f.Scenario == scenario && f.Controller == controller && f.Clusters == clusters && f.Sets == sets {
			rounds = append(rounds, f)
		}
	}
	if len(rounds) == 0 {
		return nil
	}
	slices.SortStableFunc(rounds, func(a, b *Figures) int { return cmp.Compare(a.LastWrite, b.LastWrite) })
	return rounds[(len(rounds)-1)/2]
}

// requests counts a controller's requests of some verbs to a resource, as "manifestworks" or "manifestworks/status".
func (f *Figures) requests(resource string, verbs ...string) int {
	n := 0
	for what, count := range f.Requests {
		verb, of, _ := strings.Cut(what, " ")
		if of == resource && slices.Contains(verbs, verb) {
			n += count
		}
	}
	return n
}

// workWrites are the requests that write works.
func (f *Figures) workWrites() int {
	return f.requests("manifestworks", "POST", "PUT", "PATCH", "DELETE")
}

// statusWrites are the requests that write the status of ManifestWorkReplicaSets.
func (f *Figures) statusWrites() int {
	return f.requests("manifestworkreplicasets/status", "PUT", "PATCH")
}

// otherRequests are all the rest.
func (f *Figures) otherRequests() int {
	n := 0
	for _, count := range f.Requests {
		n += count
	}
	return n - f.workWrites() - f.statusWrites()
}
