package view

import (
	"cmp"
	"slices"
	"strconv"
)

// Group is a decision group of a placementRef, with the clusters for which that placementRef is the first one that selects them.
type Group struct {
	Placement string
	// Name is the name of the group, or its index if it has no name. It is empty if the placementRef has only one group.
	Name     string
	Clusters []string
}

// GroupsOf returns the given clusters by placementRef and decision group, in the order in which the hub rolls out to them. Clusters without
// a known group, such as those of a deletion, come last, in a group for each placementRef.
func GroupsOf(o *Objects, clusters []Cluster) []Group {
	placementOf := make(map[string]string, len(clusters))
	for i := range clusters {
		placementOf[clusters[i].Name] = clusters[i].Placement
	}
	var groups []Group
	refs, _ := o.refs()
	for i := range refs {
		ref := &refs[i]
		if ref.Placement == nil {
			continue
		}
		for g := range ref.Placement.Groups {
			of := &ref.Placement.Groups[g]
			found := Group{Placement: ref.Name}
			if len(ref.Placement.Groups) > 1 {
				found.Name = cmp.Or(of.Name, "group "+strconv.Itoa(int(of.Index)))
			}
			for _, name := range of.Clusters {
				if placementOf[name] == ref.Name && ref.Name != "" {
					found.Clusters = append(found.Clusters, name)
					placementOf[name] = ""
				}
			}
			slices.Sort(found.Clusters)
			if len(found.Clusters) > 0 {
				groups = append(groups, found)
			}
		}
	}
	return append(groups, others(clusters, placementOf)...)
}

// others returns the clusters that are in none of the groups.
func others(clusters []Cluster, left map[string]string) []Group {
	byPlacement := map[string]*Group{}
	for i := range clusters {
		c := &clusters[i]
		if placement, ungrouped := left[c.Name]; !ungrouped || placement == "" && c.Placement != "" {
			continue
		}
		if byPlacement[c.Placement] == nil {
			byPlacement[c.Placement] = &Group{Placement: c.Placement}
		}
		byPlacement[c.Placement].Clusters = append(byPlacement[c.Placement].Clusters, c.Name)
		delete(left, c.Name)
	}
	found := make([]Group, 0, len(byPlacement))
	for _, group := range byPlacement {
		slices.Sort(group.Clusters)
		found = append(found, *group)
	}
	slices.SortFunc(found, func(a, b Group) int { return cmp.Compare(a.Placement, b.Placement) })
	return found
}
