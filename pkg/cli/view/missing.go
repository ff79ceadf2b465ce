package view

// explained reports whether the objects show the state of each cluster.
func (o *Objects) explained() bool {
	return len(o.Missing) == 0 && !o.overBroker() && o.ReplicaSet.Status.UpdateRevision != ""
}

// overBroker reports whether the works travel over a broker: the status counts works, but the API server has none. During a deletion, the
// status may count works that no longer exist.
func (o *Objects) overBroker() bool {
	return len(o.Missing) == 0 && len(o.Works) == 0 && o.ReplicaSet.DeletionTimestamp.IsZero() && o.ReplicaSet.Status.Summary.Total > 0
}

// onlyRecorded describes the clusters that a view shows if it can't determine the states of all clusters.
const onlyRecorded = "only the clusters in status.failures, status.rejections and status.away are shown"

// notes returns notes about the information that is missing from the view, and the reasons.
func (o *Objects) notes() []string {
	var notes []string
	for _, permission := range o.Missing {
		notes = append(notes, "no permission to "+permission+": "+onlyRecorded)
	}
	if o.overBroker() {
		notes = append(notes, "the ManifestWorks are not on this API server because they travel over a broker: "+onlyRecorded)
	}
	return notes
}
