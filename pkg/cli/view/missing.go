package view

// explained reports whether the objects tell where each cluster stands.
func (o *Objects) explained() bool {
	return len(o.Missing) == 0 && !o.overBroker() && o.ReplicaSet.Status.UpdateRevision != ""
}

// overBroker reports whether the works travel over a broker: the status counts works, but the API server has none. During a deletion,
// the status may count works that are gone.
func (o *Objects) overBroker() bool {
	return len(o.Missing) == 0 && len(o.Works) == 0 && o.ReplicaSet.DeletionTimestamp.IsZero() && o.ReplicaSet.Status.Summary.Total > 0
}

// onlyRecorded is what a view shows of the clusters if it can't tell where they stand.
const onlyRecorded = "only the clusters in status.failures, status.rejections and status.away are shown"

// notes returns what is missing from the view, and why.
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
