package dashboard

import "github.com/open-cluster-management-io/work-rollback/pkg/cli/view"

// Cell is one cluster on the map.
type Cell struct {
	Name  string `json:"n"`
	State string `json:"s"`
	Since int64  `json:"t,omitempty"`
	// Wrote is the revision that the hub wrote: its number, or its hash.
	Wrote     string `json:"w,omitempty"`
	Confirmed bool   `json:"c,omitempty"`
	// Then is the state at ChangesAt if nothing else happens.
	Then      string `json:"x,omitempty"`
	ChangesAt int64  `json:"a,omitempty"`
	WaitsFor  string `json:"f,omitempty"`
	Message   string `json:"-"`
}

func cellOf(c *view.Cluster) Cell {
	return Cell{
		Name: c.Name, State: string(c.State), Since: unix(c.Since), Wrote: c.Wrote, Confirmed: c.Confirmed, Then: string(c.Then),
		ChangesAt: unix(c.ChangesAt), WaitsFor: string(c.WaitsFor), Message: c.Message,
	}
}

// fill sets the groups and the cells, in the order of the groups.
func (p *Picture) fill(groups []view.Group, clusters []view.Cluster) {
	byName := make(map[string]*view.Cluster, len(clusters))
	for i := range clusters {
		byName[clusters[i].Name] = &clusters[i]
	}
	p.Cells, p.Groups = make([]Cell, 0, len(clusters)), []Group{}
	for i := range groups {
		p.Groups = append(p.Groups, Group{Placement: groups[i].Placement, Name: groups[i].Name, Size: len(groups[i].Clusters)})
		for _, name := range groups[i].Clusters {
			p.Cells = append(p.Cells, cellOf(byName[name]))
		}
	}
}
