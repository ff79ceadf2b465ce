package report

import (
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

// find returns the figures of a controller in a scenario; nil for none. A scenario of one ManifestWorkReplicaSet that was measured in
// the course of another one counts less than the one that was measured for itself: the first one is taken.
func (r *Run) find(scenario, controller string, clusters int) *Figures {
	for i := range r.Figures {
		if f := &r.Figures[i]; f.Scenario == scenario && f.Controller == controller && f.Clusters == clusters && f.Sets == 1 {
			return f
		}
	}
	return nil
}

// floor returns the faster one of the loops of a scenario; nil for none.
func (r *Run) floor(scenario string, clusters int) *Figures {
	var fastest *Figures
	for i := range r.Figures {
		f := &r.Figures[i]
		if f.Scenario == scenario && f.Controller == Floor && f.Clusters == clusters && (fastest == nil || f.LastWrite < fastest.LastWrite) {
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
