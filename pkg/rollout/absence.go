package rollout

// AbsenceCause is the reason why there is no revision to roll back to.
type AbsenceCause string

// The causes.
const (
	// WithoutHistory means that the hub is not allowed to read ControllerRevisions.
	WithoutHistory AbsenceCause = "WithoutHistory"
	// NeverComplete means that no rollout has completed yet.
	NeverComplete AbsenceCause = "NeverComplete"
	// NotAdopted means that no rollout has completed since this hub first saw the object, and that the stable revision was not evident from
	// the ManifestWorks of an older hub.
	NotAdopted AbsenceCause = "NotAdopted"
	// Surpassed means that another hub rolled out after the stable revision, and that no rollout has completed since.
	Surpassed AbsenceCause = "Surpassed"
	// Deleted means that the stable revision was deleted.
	Deleted AbsenceCause = "Deleted"
	// Disowned means that the stable revision no longer has an ownerReference to this object.
	Disowned AbsenceCause = "Disowned"
	// Unreadable means that the ControllerRevision of the stable revision can't be read.
	Unreadable AbsenceCause = "Unreadable"
	// OnOneCluster means that only one cluster had the stable revision, and that other clusters are selected.
	OnOneCluster AbsenceCause = "OnOneCluster"
)

// Absence describes why there is no revision to roll back to. Package status writes the message.
type Absence struct {
	Cause AbsenceCause
	// Revision is the name of the ControllerRevision that was surpassed or deleted, or that only one cluster had.
	Revision string
	// Cluster is the only cluster that had the revision.
	Cluster string
	// Others are the hashes of the revisions that the user can name as the stable revision if no rollout has completed, or if another hub
	// surpassed the stable revision.
	Others []string
	// Detail is the error from the API server or the decoder, if the history or the revision can't be read.
	Detail string
}
