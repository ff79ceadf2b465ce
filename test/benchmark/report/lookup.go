package report

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// sizes are the fleets of a run that has the figures of both a controller and a scenario, the smallest first.
func (r *Run) sizes(scenario, controller string) []int {
	found := map[int]bool{}
	for i := range r.Figures {
		if f := &r.Figures[i]; f.Scenario == scenario && f.Controller == controller && f.Sets == 1 {
			found[f.Clusters] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// find returns the figures of a controller in a scenario; nil for none. Of several rounds it is the one in the middle.
func (r *Run) find(scenario, controller string, clusters int) *Figures {
	return r.median(func(f *Figures) bool {
		return f.Scenario == scenario && f.Controller == controller && f.Clusters == clusters && f.Sets == 1
	})
}

// median returns the figures in the middle of those that match, by the time until the last write; nil for none.
func (r *Run) median(matches func(*Figures) bool) *Figures {
	var rounds []*Figures
	for i := range r.Figures {
		if f := &r.Figures[i]; matches(f) {
			rounds = append(rounds, f)
		}
	}
	if len(rounds) == 0 {
		return nil
	}
	slices.SortStableFunc(rounds, func(a, b *Figures) int { return cmp.Compare(a.LastWrite, b.LastWrite) })
	return rounds[(len(rounds)-1)/2]
}

// floor returns the loop of a scenario, with the number of workers that is faster; nil for none.
func (r *Run) floor(scenario string, clusters int) *Figures {
	workers := map[int]bool{}
	for i := range r.Figures {
		workers[r.Figures[i].Workers] = true
	}
	var fastest *Figures
	for _, n := range slices.Sorted(maps.Keys(workers)) {
		f := r.median(func(f *Figures) bool {
			return f.Scenario == scenario && f.Controller == Floor && f.Clusters == clusters && f.Workers == n
		})
		if f != nil && (fastest == nil || f.LastWrite < fastest.LastWrite) {
			fastest = f
		}
	}
	return fastest
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
