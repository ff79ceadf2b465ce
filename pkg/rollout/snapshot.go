package rollout

import (
	"slices"
	"time"

	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// Fleet is the information that this process has about the works and their clusters.
type Fleet struct {
	// Works are all ManifestWorks that have the owner label, sorted by namespace and name.
	Works []work.Work
	// Clusters are the managed clusters of works that no placementRef selects, or that the placementRef in the work's label does not select.
	// It is nil if the hub can't read ManagedClusters.
	Clusters placement.Clusters
	// Holds are the holds of selected clusters.
	Holds map[string]placement.Hold
	// AwayUnheard are the clusters that were away and whose works this process does not know yet, because their agents have not reported them
	// over a broker.
	AwayUnheard []AwayCluster
	// Gap is the last period in which the agents' reports did not reach this process. No deadline fires until the agents have had
	// time to report.
	Gap Gap
	// Heard maps each cluster to the time at which this process first heard from its agent. It omits clusters whose agents have not reported.
	// It is nil if works go through the API server, which keeps the reports from before this process began.
	Heard map[string]time.Time
	// Unreached is the sorted list of clusters whose agents are available but do not receive the broker's events. No decision depends on it.
	Unreached []string
	// Settle is the time for which this process must have seen a success without interruption before the success counts.
	Settle time.Duration
	// Handover is set under pruneStrategy WhenAvailable: objects that a revision drops stay until the revision is available.
	Handover *Handover
}

// Snapshot is all the information that Decide has about one ManifestWorkReplicaSet.
type Snapshot struct {
	// Now is the time on the hub's clock.
	Now time.Time
	Fleet

	// Update is the revision of the template in the spec. It is never nil.
	Update *work.Revision
	// Current is the last revision that every selected cluster reached, except for tolerated failures; nil if there is none, or if it can't
	// be found or read.
	Current *work.Revision
	// Absent is why Current is nil; nil if Current is not nil.
	Absent *Absence
	// Older are the other readable revisions. A work of an older hub whose spec matches one of them gets its hash.
	Older []*work.Revision
	// Aborted is true if the rollout of Update was aborted: the desired revision is Current.
	Aborted bool
	// Began is the time at which the rollout of Update last began, and Ended is true if it is complete: listed groups then hold nothing back.
	Began time.Time
	Ended bool
	// Approved are the listed groups that users approved for Update.
	Approved map[string]bool
	// Paused is true while the rollout is paused: no work is written (except by replaceLost) or deleted, and no abort is decided.
	Paused bool
	// Generation is the owner's generation, which changes when a pause begins or ends. Served is Plan.Served of an earlier pass, read from
	// the ledger.
	Generation int64
	Served     string
	// Gated is true if success gates apply: the rollout is in progress, and is neither aborted nor a return of every cluster at once.
	Gated bool
	// Restored is true if every cluster has confirmed the revision to which it was rolled back. A process that started later reports this
	// without watching each success first.
	Restored bool

	// Owner is the value of the works' owner label. If OwnerHash is true, they get workv1alpha1.LabelOwnerHash, too.
	Owner     string
	OwnerHash bool
	// Labels are the owner's own labels, which its works also get.
	Labels map[string]string
	// Refs are the placementRefs that count, in spec order. IgnoredRefs is the number of other placementRefs in the spec, whose clusters are
	// unknown.
	Refs        []placement.Ref
	IgnoredRefs int
	// Rejected has, by cluster, the rejections of the last attempt to write the desired revision. While aborted, it includes clusters whose
	// writes keep failing in another way: neither kind delays the abort.
	Rejected map[string]Rejection
	// Unanswered are the clusters whose last write of the desired revision recently failed without a rejection. The write may have succeeded.
	Unanswered map[string]bool
	// Records are the facts in the status about the rollout of Update.
	Records Records
	// Retried is the time at which a user removed the recorded failure of a cluster from the status: the cluster gets a
	// new deadline.
	Retried map[string]time.Time
	// RetriedUntil is a time in whole seconds; zero for none. When it is reached, every earlier failure is retried.
	RetriedUntil time.Time
	// Undo is true if the rollout returns to a revision that was current before, and is older than the present current revision.
	Undo bool
	// FastUndo is true if Update was within the rollback window when the undo began: the undo reaches every cluster at once.
	FastUndo bool
	// WrittenBack are the clusters whose works this process has restored in this abort. If such a work is changed afterwards, it is restored
	// again, and does not delay the abort.
	WrittenBack map[string]bool

	// stillRejected is true if the API server is assumed to still reject the writes that it rejected last (At).
	stillRejected bool
}

// BeganLately reports whether the last gap is so recent that deadlines may not have fired yet.
func (s *Snapshot) BeganLately() bool { return s.Now.Before(s.Gap.Over(unknownLength)) }

// At returns the snapshot at a later time if nothing else changes: the API server still rejects what it rejects now, unless a pause keeps
// the hub from trying.
func (s *Snapshot) At(at time.Time) *Snapshot {
	then := *s
	then.Now, then.stillRejected = at, !s.Paused
	return &then
}

// AssumeSettled returns the snapshot of a process that has watched for a long time: deadlines fire, and successes are settled. It assumes
// nothing about rejected writes: a rejected cluster fails only if an attempt after its deadline was rejected.
func (s *Snapshot) AssumeSettled() *Snapshot {
	watched := *s
	watched.Gap, watched.Settle = Gap{}, 0
	watched.Works = slices.Clone(s.Works)
	for i := range watched.Works {
		if w := &watched.Works[i]; w.SucceededSince.IsZero() && !w.Deleting() {
			w.SucceededSince = s.Now
		}
		watched.Works[i].WatchedSince = time.Time{}
	}
	return &watched
}
