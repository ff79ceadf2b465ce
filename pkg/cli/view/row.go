package view

import (
	"time"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// Row is a ManifestWorkReplicaSet in a list.
type Row struct {
	Namespace string             `json:"namespace"`
	Name      string             `json:"name"`
	State     workv1alpha1.State `json:"state"`
	// Since is the time when the state began; zero if unknown.
	Since   time.Time `json:"since,omitzero"`
	Created time.Time `json:"created,omitzero"`
	// Update and Current are the numbers of the update revision and the current revision; zero if there is none.
	Update  int64 `json:"update,omitempty"`
	Current int64 `json:"current,omitempty"`
	// The numbers of clusters as the status counts them.
	Selected int `json:"selected"`
	Updated  int `json:"updated"`
	Failed   int `json:"failed"`
	Degraded int `json:"degraded"`
	// Healthy is the number of clusters that succeed with the intended revision. After an abort, the intended revision is the current
	// revision. Sick is the number of failed or degraded clusters.
	Healthy int `json:"healthy"`
	Sick    int `json:"sick"`
}

// RowOf returns the row of an object.
func RowOf(rs *workv1alpha1.ManifestWorkReplicaSet) Row {
	summary := &rs.Status.Summary
	row := Row{
		Namespace: rs.Namespace, Name: rs.Name, State: StateOf(rs), Since: SinceOf(rs), Created: rs.CreationTimestamp.Time,
		Selected: Selected(rs), Updated: summary.Updated, Failed: summary.Failed, Degraded: summary.Degraded,
		Healthy: summary.Updated, Sick: max(summary.Failed, summary.Degraded),
	}
	if rs.Status.AbortedTime != nil && rs.Status.CurrentRevision != "" {
		row.Healthy, row.Sick = min(summary.Available, summary.Applied), summary.Degraded
	}
	for _, rev := range Revisions(&Objects{ReplicaSet: rs}) {
		if rev.Update {
			row.Update = rev.Number
		}
		if rev.Current {
			row.Current = rev.Number
		}
	}
	return row
}
