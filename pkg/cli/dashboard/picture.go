package dashboard

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
)

// picture is a ManifestWorkReplicaSet at a point in time, as the page shows it.
type picture struct {
	Head head `json:"head"`
	// Groups hold the clusters in rollout order.
	Groups []view.Group `json:"groups"`
}

// head is everything except the clusters.
type head struct {
	*view.Fleet
	// ReachedText describes how far an aborted revision got.
	ReachedText string `json:"reachedText,omitempty"`
	// Events are the events of the timeline, newest first.
	Events   []view.Event       `json:"events"`
	Offers   []view.Offer       `json:"offers"`
	Counts   map[view.State]int `json:"counts"`
	Selected int                `json:"selected"`
}

// pictureOf returns the picture of a ManifestWorkReplicaSet from its objects.
func pictureOf(o *view.Objects) *picture {
	o = view.Prepared(o)
	clusters := view.Clusters(o)
	p := &picture{Groups: append([]view.Group{}, view.GroupsOf(o, clusters)...), Head: head{
		Fleet: view.FleetOf(o), Counts: map[view.State]int{}, Selected: view.Selected(o.ReplicaSet), Offers: view.Offers(o),
		Events: append([]view.Event{}, view.Timeline(o)...),
	}}
	slices.Reverse(p.Head.Events)
	if reached := p.Head.Reached; reached != nil {
		p.Head.ReachedText = reached.Text(duration.HumanDuration)
	}
	for i := range clusters {
		p.Head.Counts[clusters[i].State]++
	}
	return p
}
