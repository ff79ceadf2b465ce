package view

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
)

// Group is a decision group of a placementRef, with the clusters that no earlier placementRef selects.
type Group struct {
	Placement string `json:"placement"`
	// Name is the name of the group, or its index if it has no name. It is empty if the placementRef has only one group.
	Name     string    `json:"name,omitempty"`
	Clusters []Cluster `json:"clusters"`
}

// GroupsOf returns the given clusters by placementRef and decision group, in the order in which the hub rolls out to them. Clusters without
// a known group, such as those of a deletion, come last, in a group for each placementRef.
func GroupsOf(o *Objects, clusters []Cluster) (groups []Group) {
	left := make(map[string]*Cluster, len(clusters))
	for i := range clusters {
		left[clusters[i].Name] = &clusters[i]
	}
	take := func(placement, name string, names []string) {
		found := Group{Placement: placement, Name: name}
		for _, cluster := range slices.Sorted(slices.Values(names)) {
			if c := left[cluster]; c != nil && c.Placement == placement {
				found.Clusters = append(found.Clusters, *c)
				delete(left, cluster)
			}
		}
		if len(found.Clusters) > 0 {
			groups = append(groups, found)
		}
	}
	refs, _ := o.refs()
	for i := range refs {
		if refs[i].Placement == nil {
			continue
		}
		of := refs[i].Placement.Groups
		for g := range of {
			name := ""
			if len(of) > 1 {
				name = cmp.Or(of[g].Name, "group "+strconv.Itoa(int(of[g].Index)))
			}
			take(refs[i].Name, name, of[g].Clusters)
		}
	}
	rest := map[string][]string{}
	for name, c := range left {
		rest[c.Placement] = append(rest[c.Placement], name)
	}
	for _, placement := range slices.Sorted(maps.Keys(rest)) {
		take(placement, "", rest[placement])
	}
	return groups
}
