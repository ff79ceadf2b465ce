package status

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// maxRevisionText limits abortReason and changeCause of status.revisions, in bytes: the size of a status is limited.
const maxRevisionText = 256

// revisions derives status.revisions from the history and the works, newest first. It is nil if there is no history.
func revisions(in *Input) []workv1alpha1.RevisionStatus {
	if in.History == nil || len(in.History.Revisions) == 0 {
		return nil
	}
	reached := reachOf(in)
	chosen := listed(in, reached)
	out := make([]workv1alpha1.RevisionStatus, 0, len(chosen))
	for _, rev := range chosen {
		out = append(out, revisionStatus(in, rev, reached[rev.Hash]))
	}
	return out
}

// reach is the state of one revision on the works.
type reach struct {
	// clusters is the number of clusters that have it.
	clusters int32
	// unready is true if it has not succeeded on at least one of them.
	unready bool
	// last is the cluster that was last counted: works are sorted by cluster, and a cluster with two works counts once.
	last string
}

// reachOf returns the state of each revision on the works, by hash. Each work was assessed at its own revision once in this pass, when
// SucceededSince was noted. Nothing is assessed again here (P8).
func reachOf(in *Input) map[string]*reach {
	found := map[string]*reach{}
	for i := range in.Snapshot.Works {
		w := &in.Snapshot.Works[i]
		hash := w.Hash()
		if hash == "" || w.UnexpectedName && !in.Plan.Selects(w.Cluster()) {
			continue
		}
		r := found[hash]
		if r == nil {
			r = &reach{}
			found[hash] = r
		}
		if r.last != w.Cluster() {
			r.clusters++
			r.last = w.Cluster()
		}
		r.unready = r.unready || w.SucceededSince.IsZero()
	}
	return found
}

// listed returns the revisions that the status lists, newest first. It prefers the current and the update revision, then those that works
// have, and then the newest ones.
func listed(in *Input, reached map[string]*reach) []*revision.Revision {
	rank := func(rev *revision.Revision) int {
		switch {
		case rev.Hash == in.Ledger.Current.Hash || rev.Hash == in.Ledger.Update.Hash:
			return 0
		case reached[rev.Hash] != nil:
			return 1
		}
		return 2
	}
	all := make([]*revision.Revision, 0, len(in.History.Revisions))
	for i := range in.History.Revisions {
		all = append(all, &in.History.Revisions[len(in.History.Revisions)-1-i])
	}
	if len(all) <= workv1alpha1.MaxRevisionStatuses {
		return all
	}
	ranked := slices.Clone(all)
	slices.SortStableFunc(ranked, func(a, b *revision.Revision) int { return cmp.Compare(rank(a), rank(b)) })
	kept := ranked[:workv1alpha1.MaxRevisionStatuses]
	return slices.DeleteFunc(all, func(rev *revision.Revision) bool { return !slices.Contains(kept, rev) })
}

func revisionStatus(in *Input, rev *revision.Revision, on *reach) workv1alpha1.RevisionStatus {
	created := rev.Object.CreationTimestamp.Time
	began := slices.MaxFunc([]time.Time{created, rev.Began, rev.Retried}, time.Time.Compare)
	if in.isUpdate(rev) {
		began = slices.MaxFunc([]time.Time{created, in.Ledger.Begun.Last()}, time.Time.Compare)
	}
	out := workv1alpha1.RevisionStatus{
		Name:               rev.Object.Name,
		Hash:               rev.Hash,
		Revision:           rev.Object.Revision,
		State:              stateOf(in, rev, on),
		FirstRolledOutTime: seconds(created),
		LastRolledOutTime:  seconds(began),
		ChangeCause:        revision.Shortened(rev.ChangeCause(), maxRevisionText),
		CreatedBy:          revision.Shortened(rev.CreatedBy, maxRevisionText),
	}
	if on != nil {
		out.Clusters = on.clusters
	}
	switch {
	case in.endedBefore(rev): // Its record is not written yet.
		out.ReachedClusters = in.Ledger.MostReached(rev.Reached, int(out.Clusters))
	case rev.Reached != nil:
		out.ReachedClusters = ptr.To(*rev.Reached)
	default:
		out.ReachedClusters = replacedAt(in, rev, out.Clusters)
	}
	if abort := in.abortOf(rev); abort != nil {
		out.AbortedTime, out.AbortReason = seconds(abort.At), revision.Shortened(abort.Why(), maxRevisionText)
	}
	return out
}

// replacedAt returns how many clusters had a revision whose rollout was replaced before it ended; nil for any other revision. The
// revision's record does not have this number: only the status has it, and keeps the largest number.
func replacedAt(in *Input, rev *revision.Revision, clusters int32) *int32 {
	before := &in.Object.Status
	for i := range before.Revisions {
		had := &before.Revisions[i]
		switch {
		case had.Hash != rev.Hash || in.isUpdate(rev):
		case had.ReachedClusters != nil:
			return ptr.To(*had.ReachedClusters)
		case before.UpdateRevision == rev.Hash:
			return ptr.To(max(had.Clusters, clusters))
		}
	}
	return nil
}

// stateOf returns the state of a revision: the first state that applies.
func stateOf(in *Input, rev *revision.Revision, on *reach) workv1alpha1.RevisionState {
	switch update := in.isUpdate(rev); {
	case in.abortOf(rev) != nil:
		return workv1alpha1.RevisionAborted
	case update && in.Stage == RollingOut:
		return workv1alpha1.RevisionProgressing
	case on == nil:
		return workv1alpha1.RevisionArchived
	case on.unready || update && in.Stage == Stalled:
		return workv1alpha1.RevisionNotReady
	}
	return workv1alpha1.RevisionAvailable
}

// endedBefore reports whether the rollout of a revision has ended but its record does not show this yet.
func (in *Input) endedBefore(rev *revision.Revision) bool {
	if !in.isUpdate(rev) {
		return false
	}
	return in.Ledger.Complete() && !rev.Ended.Equal(in.Ledger.Ended) || in.Ledger.Abort != nil && (rev.Abort == nil || !rev.Abort.At.Equal(in.Ledger.Abort.At))
}

func (in *Input) isUpdate(rev *revision.Revision) bool {
	return rev.Hash == in.Ledger.Update.Hash
}

// abortOf returns the abort of the last rollout of a revision; nil if it was not aborted.
func (in *Input) abortOf(rev *revision.Revision) *revision.Abort {
	if in.isUpdate(rev) {
		return in.Ledger.Abort
	}
	return rev.Abort
}

// seconds returns a time as the status stores it, in whole seconds: a fraction would always differ from the stored time (P7). It is nil for
// the zero time.
func seconds(at time.Time) *metav1.Time {
	if at.IsZero() {
		return nil
	}
	stored := metav1.NewTime(at.UTC().Truncate(time.Second))
	return &stored
}
