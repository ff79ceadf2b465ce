package rollout

// AbsenceCause is why there is no revision to roll back to.
type AbsenceCause string

// The causes.
const (
	// WithoutHistory means that the hub may not read ControllerRevisions.
	WithoutHistory AbsenceCause = "WithoutHistory"
	// NeverComplete means that no rollout has completed yet.
	NeverComplete AbsenceCause = "NeverComplete"
	// NotAdopted means that no rollout has completed since this hub first saw the object, and that the ManifestWorks of an older hub did not
	// show which revision was stable.
	NotAdopted AbsenceCause = "NotAdopted"
	// Surpassed means that another hub rolled out after the stable revision, and that no rollout has completed since.
	Surpassed AbsenceCause = "Surpassed"
	// Deleted means that somebody deleted it.
	Deleted AbsenceCause = "Deleted"
	// Disowned means that the stable revision no longer has an ownerReference to this object.
	Disowned AbsenceCause = "Disowned"
	// Unreadable means that its ControllerRevision cannot be read.
	Unreadable AbsenceCause = "Unreadable"
	// OnOneCluster means that only one cluster had it, and that others are selected.
	OnOneCluster AbsenceCause = "OnOneCluster"
)

// Absence is why there is no revision to roll back to. Package status makes the message.
type Absence struct {
	Cause AbsenceCause
	// Revision is the name of the ControllerRevision that was surpassed or deleted, or that only one cluster had.
	Revision string
	// Cluster is the only cluster that had the revision.
	Cluster string
	// Others are the hashes from which the user may name the stable revision: no rollout was complete, or another hub surpassed it.
	Others []string
	// Detail is the error from the API server or the decoder: why the history, or the revision, cannot be read.
	Detail string
}
