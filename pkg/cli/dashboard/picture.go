package dashboard

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
)

// Picture is a ManifestWorkReplicaSet at a point in time, as the page shows it.
type Picture struct {
	Head Head
	// Groups divide the cells into parts, in the order in which the hub rolls out to them.
	Groups []Group
	Cells  []Cell
}

// Group is a decision group of a placementRef. Its cells follow those of the previous group.
type Group struct {
	Placement string `json:"placement"`
	Name      string `json:"name,omitempty"`
	Size      int    `json:"size"`
}

// Head is everything except the cells.
type Head struct {
	*view.Fleet
	// ReachedText describes how far an aborted revision came.
	ReachedText string         `json:"reachedText,omitempty"`
	Events      []view.Event   `json:"events"`
	Offers      []view.Offer   `json:"offers"`
	Counts      map[string]int `json:"counts"`
	Selected    int            `json:"selected"`
}

// pictureOf returns the picture of a ManifestWorkReplicaSet from its objects.
func pictureOf(o *view.Objects) *Picture {
	o = view.Prepared(o)
	fleet, clusters := view.Of(o), view.Clusters(o)
	p := &Picture{Head: Head{
		Fleet: fleet, Counts: map[string]int{}, Selected: view.Selected(o.ReplicaSet), Offers: view.Offers(o),
		Events: append([]view.Event{}, view.Timeline(o)...),
	}}
	if fleet.Reached != nil {
		p.Head.ReachedText = fleet.Reached.Text(duration.HumanDuration)
	}
	slices.Reverse(p.Head.Events)
	p.fill(view.GroupsOf(o, clusters), clusters)
	for i := range p.Cells {
		p.Head.Counts[p.Cells[i].State]++
	}
	if fleet.State == workv1alpha1.StatePaused && !fleet.Since.IsZero() {
		p.Head.Events = append(p.Head.Events, view.Event{At: fleet.Since, Text: "the rollout was paused"})
	}
	slices.SortStableFunc(p.Head.Events, func(a, b view.Event) int { return b.At.Compare(a.At) }) // The newest first.
	return p
}

func unix(at time.Time) int64 {
	if at.IsZero() {
		return 0
	}
	return at.Unix()
}
