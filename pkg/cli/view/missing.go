package view

import (
	"slices"
	"strings"

	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"

	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// The resources that a view can do without, as Objects.Missing names them.
const (
	resourceWorks      = "manifestworks"
	resourceRevisions  = "controllerrevisions"
	resourcePlacements = "placements"
	resourceDecisions  = "placementdecisions"
)

// lacks reports whether the permission to read a resource is missing. An entry of Missing begins with the verb and the resource, such as
// "list manifestworks.work.open-cluster-management.io".
func (o *Objects) lacks(resource string) bool {
	return slices.ContainsFunc(o.Missing, func(permission string) bool {
		_, rest, _ := strings.Cut(permission, " ")
		name, _, _ := strings.Cut(rest, ".")
		return name == resource
	})
}

// selected returns the clusters that a Placement selects; nil if it does not exist. If its decisions can't be read, the works tell the
// clusters. If only the Placement can't be read, the decisions count as complete.
func (o *Objects) selected(name string) *placement.Placement {
	object, decisions := o.Placements[name], o.Decisions[name]
	if o.lacks(resourceDecisions) {
		decisions = []*clusterv1beta1.PlacementDecision{o.presumed(name)}
	}
	if o.lacks(resourcePlacements) || o.lacks(resourceDecisions) {
		object = &clusterv1beta1.Placement{}
		for _, decision := range decisions {
			object.Status.NumberOfSelectedClusters += int32(len(decision.Status.Decisions)) //nolint:gosec // A list in memory.
		}
	}
	if object == nil {
		return nil
	}
	return placement.Of(object, decisions)
}

// presumed returns a decision with the clusters that have a work of a Placement.
func (o *Objects) presumed(name string) *clusterv1beta1.PlacementDecision {
	decision := &clusterv1beta1.PlacementDecision{}
	for i := range o.Works {
		if work := &o.Works[i]; work.PlacementName() == name {
			decision.Status.Decisions = append(decision.Status.Decisions, clusterv1beta1.ClusterDecision{ClusterName: work.Cluster()})
		}
	}
	return decision
}

// stored returns the revisions that were read. If ControllerRevisions can't be read, the template in the spec stands for the revision that
// is being rolled out.
func (o *Objects) stored() revision.History {
	history, hash := o.history(), o.ReplicaSet.Status.UpdateRevision
	if o.lacks(resourceRevisions) && o.templateIs(hash) {
		template := o.ReplicaSet.Spec.ManifestWorkTemplate
		if made, err := revision.New(o.ReplicaSet, &template, hash, 1); err == nil {
			history = revision.NewHistory(o.ReplicaSet, append(slices.Clone(history.Revisions), revision.Decode(made)))
		}
	}
	return history
}

func (o *Objects) templateIs(hash string) bool {
	template := o.ReplicaSet.Spec.ManifestWorkTemplate
	return hash != "" && revision.ComputeHash(&template, o.ReplicaSet.Status.CollisionCount) == hash
}

// explained reports whether the objects tell where each cluster stands.
func (o *Objects) explained() bool {
	switch {
	case o.lacks(resourceWorks), o.overBroker(), o.ReplicaSet.Status.UpdateRevision == "":
		return false
	case o.lacks(resourceRevisions):
		return !o.aborted() && o.templateIs(o.ReplicaSet.Status.UpdateRevision)
	}
	return true
}

// onlyRecorded is what a view shows of the clusters if it can't tell where they stand.
const onlyRecorded = "only the clusters in status.failures and status.rejections are shown"

// notes returns what is missing from the view, and why.
func (o *Objects) notes() []string {
	var notes []string
	for _, permission := range o.Missing {
		notes = append(notes, "no permission to "+permission+": "+o.without(permission))
	}
	if o.overBroker() {
		notes = append(notes, "the ManifestWorks are not on this API server because they travel over a broker: "+onlyRecorded)
	}
	return notes
}

// without returns what the view lacks without a permission.
func (o *Objects) without(permission string) string {
	one := &Objects{Missing: []string{permission}}
	switch {
	case one.lacks(resourceRevisions) && (o.explained() || o.lacks(resourceWorks)):
		return "revisions that status.revisions does not list are not shown"
	case one.lacks(resourcePlacements) && o.explained():
		return "the PlacementDecisions count as complete"
	case one.lacks(resourceDecisions) && o.explained():
		return "clusters without a ManifestWork and decision groups are not shown"
	}
	return onlyRecorded
}
