package rollout

// AbsenceCause is why there is no revision to roll back to.
type AbsenceCause string

// The causes.
const (
	// WithoutHistory means that the hub may not read ControllerRevisions.
	WithoutHistory AbsenceCause = "WithoutHistory"
	// NeverComplete means that no rollout has completed yet.
	NeverComplete AbsenceCause = "NeverComplete"
	// NotAdopted means that no rollout has completed since this hub first saw the object, and that the ManifestWorks of an older hub did not show
	// which revision was stable (R6).
	NotAdopted AbsenceCause = "NotAdopted"
	// Surpassed means that another hub rolled out after the stable revision, and that no rollout has completed since (R6).
	Surpassed AbsenceCause = "Surpassed"
	// Deleted means that somebody deleted it, and that nothing shows what it held (R7).
	Deleted AbsenceCause = "Deleted"
	// Unreadable means that its ControllerRevision can't be read.
	Unreadable AbsenceCause = "Unreadable"
	// OnOneCluster means that one cluster alone had it, and that others are selected (R6).
	OnOneCluster AbsenceCause = "OnOneCluster"
)

// Absence is why there is no revision to roll back to. Package status puts it into words.
type Absence struct {
	Cause AbsenceCause
	// Revision is the name of the ControllerRevision that was surpassed or deleted, or that was on one cluster.
	Revision string
	// Cluster is the one that alone had the revision.
	Cluster string
	// Others are the hashes of which a person may name one as the stable revision: where no rollout was complete, or another hub surpassed it.
	Others []string
	// Detail is what a request or a reader said: why the history, or the revision, can't be read.
	Detail string
	// Works is how many ManifestWorks have the hash of a revision that can't be read.
	Works int
}

// AbortBlock is why a failed ref with failureStrategy AbortAll does not abort the rollout (R12).
type AbortBlock string

// The blocks.
const (
	// NoBlock means that nothing keeps the rollout from being aborted, or that no ref asks for it.
	NoBlock AbortBlock = ""
	// BlockedByAbsence means that there is no revision to roll back to.
	BlockedByAbsence AbortBlock = "Absence"
	// BlockedByUndo means that the rollout is an undo: the hub does not return to the revision that was left.
	BlockedByUndo AbortBlock = "Undo"
)
