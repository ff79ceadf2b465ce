package view

import (
	"errors"
	"slices"

	"github.com/open-cluster-management-io/work-rollback/pkg/cli/forecast"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
)

// SimulationOf returns the input of a simulation of the spec's rollout to the clusters that its Placements select, without the model of
// the agents. A cluster that several Placements select counts for the first of them.
func SimulationOf(o *Objects) (*forecast.Input, error) {
	set := *o.ReplicaSet
	set.Spec.PlacementRefs = nil // Those without clusters are left out: the simulation needs clusters for each.
	in := &forecast.Input{
		ReplicaSet: &set, Rules: forecast.RulesOf(&o.ReplicaSet.Spec.ManifestWorkTemplate), First: o.ReplicaSet.Status.CurrentRevision == "",
		Placements: map[string]*placement.Placement{},
	}
	seen := map[string]bool{}
	refs, _ := o.refs()
	for i := range refs {
		if refs[i].Placement == nil || in.Placements[refs[i].Name] != nil {
			continue
		}
		pl := &placement.Placement{Decisions: len(refs[i].Placement.Groups)}
		for _, group := range refs[i].Placement.Groups { // All groups keep their places and indices, which a strategy may name.
			clusters := group.Clusters
			group.Clusters = nil
			for _, name := range clusters {
				if !seen[name] {
					seen[name] = true
					group.Clusters = append(group.Clusters, name)
				}
			}
			slices.Sort(group.Clusters)
			pl.Groups = append(pl.Groups, group)
			pl.Selected += len(group.Clusters)
		}
		in.Placements[refs[i].Name] = pl
		if pl.Selected > 0 {
			set.Spec.PlacementRefs = append(set.Spec.PlacementRefs, o.ReplicaSet.Spec.PlacementRefs[i])
		}
	}
	if len(set.Spec.PlacementRefs) == 0 {
		return nil, errors.New("the Placements select no clusters, or you may not read them: there is nothing to simulate")
	}
	return in, nil
}
