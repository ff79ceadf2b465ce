package lifecycle

import (
	"time"

	"github.com/open-cluster-management-io/work-rollback/pkg/ledger"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// Notes is the information about the works that this process has but the works do not hold. It is noted once per pass. Snapshots do not
// change it.
type Notes struct {
	rollout.Fleet
	// Failures are the writes of works that failed when they were last tried.
	Failures []Failure
	// WrittenBack are the clusters whose works an abort has restored.
	WrittenBack WrittenBack
}

// Failure is a failed write of the desired revision to the work of a cluster.
type Failure struct {
	// Cluster is the cluster of the work, and Target is the intended result.
	Cluster, Target string
	// Message is the answer from the API server.
	Message string
	// Since is the time at which the write first failed. RefusedSince is the time at which the API server first rejected the write; zero if it
	// did not reject the write.
	Since, RefusedSince time.Time
	// TriedAt is the time at which the write was last tried.
	TriedAt time.Time
}

// WrittenBack holds clusters for one abort, which is identified by the revision that their works get and by its start.
type WrittenBack struct {
	Abort    string
	Clusters map[string]bool
}

// StuckAfter is the time for which every try to restore a work must have failed before an abort continues without that
// work.
const StuckAfter = 2 * time.Minute

// Target identifies a revision that works get in a rollout, in a retry of the rollout, or in an abort.
func Target(s *rollout.Snapshot, rev *work.Revision) string {
	switch {
	case s.Aborted:
		return abortTarget(rev)
	case !s.RetriedUntil.IsZero() && !s.Now.Before(s.RetriedUntil):
		return rev.Hash + "/" + s.RetriedUntil.UTC().Format(time.RFC3339)
	}
	return rev.Hash
}

func abortTarget(rev *work.Revision) string { return "abort/" + rev.Hash }

// AbortOf identifies an abort: by the revision that the works get, and by when the abort began.
func AbortOf(rev *work.Revision, began time.Time) string {
	return abortTarget(rev) + "/" + began.UTC().Format(time.RFC3339Nano)
}

// SnapshotOf returns the snapshot of the rollout that a ledger describes, aborted or not.
func (v *Observation) SnapshotOf(l *ledger.Ledger, update *work.Revision, aborted bool) *rollout.Snapshot {
	notes := &v.Notes
	s := &rollout.Snapshot{
		Now:          v.Now,
		Fleet:        notes.Fleet,
		Update:       v.withBeginning(l, update),
		Aborted:      aborted,
		Restored:     aborted && !l.Abort.Restored.IsZero(),
		Began:        v.began(l),
		Ended:        l.Complete(),
		Approved:     approved(l),
		Paused:       v.Object.Spec.Paused,
		Generation:   v.Object.Generation,
		Served:       l.Served,
		Owner:        v.Owner,
		OwnerHash:    v.OwnerHash,
		Labels:       v.Object.Labels,
		Refs:         v.Refs,
		IgnoredRefs:  v.IgnoredRefs,
		Records:      v.records(l),
		Retried:      retried(l),
		RetriedUntil: v.retryByAnnotation(l),
		Older:        v.older(update.Hash),
	}
	s.Handover = v.handover()
	s.Current, s.Absent = v.current(l, update)
	s.Undo = l.Undoes()
	s.FastUndo = !aborted && l.Begun.AtOnce && s.Current != nil && s.Current.Hash != update.Hash
	s.Gated = !aborted && update.Hash == l.Update.Hash && l.Gated()
	desired := update
	if aborted && s.Current != nil {
		desired = s.Current
		if notes.WrittenBack.Abort == AbortOf(s.Current, l.Abort.At) {
			s.WrittenBack = notes.WrittenBack.Clusters
		}
	}
	s.Rejected, s.Unanswered = notes.Refusals(Target(s, desired), aborted, v.Now)
	return s
}

// handover returns how clusters pass from one revision to another. Without a history, the hub does not know what a cluster had before.
// Until the history can be read again, it does not touch works that keep dropped objects.
func (v *Observation) handover() *rollout.Handover {
	if v.NoHistory && v.Notes.Handover != nil {
		return &rollout.Handover{Problem: "without a revision history, the hub does not know what a cluster had before", Unknown: v.Notes.Handover.Unknown}
	}
	return v.Notes.Handover
}

// began returns the time at which the rollout last began, or when this process first saw its beginning if that is earlier: the clock may
// have been set back since.
func (v *Observation) began(l *ledger.Ledger) time.Time {
	at := l.Begun.Last()
	if v.BeginSeen.IsZero() || !v.Before.Begun.Last().Equal(at) {
		return at
	}
	return work.Earlier(at, v.BeginSeen)
}

func approved(l *ledger.Ledger) map[string]bool {
	if len(l.Approvals) == 0 {
		return nil
	}
	found := make(map[string]bool, len(l.Approvals))
	for i := range l.Approvals {
		found[l.Approvals[i].Group] = true
	}
	return found
}

// withBeginning returns a revision with the facts about its rollout from the ledger.
func (v *Observation) withBeginning(l *ledger.Ledger, rev *work.Revision) *work.Revision {
	if rev.Hash != l.Update.Hash {
		return rev
	}
	out := *rev
	out.Reused, out.Underway = l.Begun.How != ledger.New, l.Ended.IsZero()
	if l.Begun.Again() {
		out.CountsFrom, out.BeginSeen = l.Begun.Last(), v.BeginSeen
		if !v.Before.Begun.Last().Equal(out.CountsFrom) {
			out.BeginSeen = v.Now // It begins in this pass.
		}
	}
	return &out
}

// unansweredFor is the time for which a write without an answer counts as possibly successful. After this time, a cluster whose writes keep
// failing does not delay other clusters.
const unansweredFor = 30 * time.Second

// Refusals returns the clusters whose work the API server rejects for a target, and the clusters whose writes for that target failed
// recently without a rejection: these writes may have succeeded (P4). During an abort, a cluster whose writes have failed in another way
// for at least StuckAfter counts as rejected.
func (n *Notes) Refusals(target string, aborted bool, now time.Time) (rejected map[string]rollout.Rejection, unanswered map[string]bool) {
	rejected, unanswered = map[string]rollout.Rejection{}, map[string]bool{}
	for i := range n.Failures {
		switch f := &n.Failures[i]; {
		case f.Target != target:
		case !f.RefusedSince.IsZero():
			rejected[f.Cluster] = rollout.Rejection{Since: f.RefusedSince, TriedAt: f.TriedAt, Message: f.Message}
		case now.Before(f.Since.Add(unansweredFor)):
			unanswered[f.Cluster] = true
		case aborted && f.stuck(n.Gap, now):
			rejected[f.Cluster] = rollout.Rejection{Since: f.Since, TriedAt: f.TriedAt, Message: f.Message, Unanswered: true}
		}
	}
	return rejected, unanswered
}

// stuck reports whether a write has failed for StuckAfter and the agents have had time to report again since the last gap.
func (f *Failure) stuck(gap rollout.Gap, now time.Time) bool {
	return !now.Before(work.Later(f.Since.Add(StuckAfter), gap.Over(StuckAfter)))
}

func (v *Observation) older(update string) []*work.Revision {
	var older []*work.Revision
	for _, rev := range v.readable() {
		if rev.Hash != update {
			older = append(older, work.NewRevision(rev))
		}
	}
	return older
}

func (v *Observation) readable() []*revision.Revision {
	var found []*revision.Revision
	for i := range v.History.Revisions {
		if rev := &v.History.Revisions[i]; rev.Err == nil && !v.NoHistory {
			found = append(found, rev)
		}
	}
	return found
}

// ByHash returns the readable revisions and, if the template in the spec is rolled out without a revision, the template.
func (v *Observation) ByHash() map[string]*work.Revision {
	readable := v.readable()
	found := make(map[string]*work.Revision, len(readable)+1)
	for _, rev := range readable {
		found[rev.Hash] = work.NewRevision(rev)
	}
	update := &v.Before.Update
	switch {
	case v.Template == "" || found[update.Hash] != nil:
	case v.NoHistory:
		if update.Hash != "" {
			found[update.Hash] = v.updateOf() // During a pause, the template in the spec may be another one.
		}
		hash := v.hashesOfTemplate()[0]
		found[hash] = v.ofTemplate(hash)
	case update.Digest == v.Template:
		found[update.Hash] = v.ofTemplate(update.Hash)
	}
	return found
}
