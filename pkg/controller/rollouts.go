package controller

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
)

// timeFormat is how annotations hold times.
const timeFormat = time.RFC3339Nano

// rolloutReconciler begins rollouts, and sees to it that what decides is persisted before any work is written (R4, R16).
type rolloutReconciler struct{ *Controller }

func (r *rolloutReconciler) reconcile(ctx context.Context, p *pass) (bool, error) {
	r.observeWorks(p)
	if handled, err := r.abortByHand(ctx, p); handled {
		return false, err
	}
	begins := p.revisions.UpdateRevision != p.update.Hash
	if begins && p.revisions.AbortedTime != nil && r.abortUnfinished(p) {
		begins, p.pending = false, true
		p.update = p.revisionNamed(p.revisions.UpdateRevision)
	}
	if begins {
		p.revisions.UpdateRevision = p.update.Hash
		p.revisions.AbortedTime = nil
	}
	if p.held {
		p.snapshot = r.view(p, p.update, false)
		return true, nil
	}
	// Also while there is a history: it may be gone when somebody wipes the status.
	r.memory.owners.keepRevisions(p.key, p.revisions)
	p.snapshot = r.view(p, p.update, p.revisions.AbortedTime != nil)
	persisted := equality.Semantic.DeepEqual(p.revisions, status.RevisionsOf(&p.object.Status))
	if !persisted && !r.memory.owners.prunedLately(p.key, p.now) {
		if err := r.begin(ctx, p, begins); err != nil || !r.memory.owners.prunedLately(p.key, p.now) {
			return false, err
		}
		// It can't be persisted there. The revisions tell the same, and the next pass reads it from them (R16).
	}
	return r.annotate(ctx, p)
}

// abortUnfinished says whether a work that can be written still has to go back: then the new rollout waits (R4).
func (r *rolloutReconciler) abortUnfinished(p *pass) bool {
	return rollout.Decide(r.view(p, p.revisionNamed(p.revisions.UpdateRevision), true)).Behind > 0
}

// begin persists a new rollout, or a status that was rebuilt. The pass ends with it.
func (r *rolloutReconciler) begin(ctx context.Context, p *pass, begins bool) error {
	p.plan = rollout.Decide(p.snapshot)
	stage := status.RollingOut
	if !begins {
		p.aborting = p.plan.Behind > 0
		stage = stageOf(p)
	}
	return r.patchStatus(ctx, p, stage, abortReason(p))
}

// annotate brings what the update revision tells of an abort in line with the status. Where the status has no abort and
// the revision tells of one, someone took it out of the status: a retry (R4, R16).
func (r *rolloutReconciler) annotate(ctx context.Context, p *pass) (bool, error) {
	update := p.history.ByHash(p.update.Hash)
	if update == nil {
		return true, nil
	}
	_, told := update.AbortedAt()
	switch {
	case p.snapshot.Aborted && !told:
		return r.goesOnUntold(p, r.tellAborted(ctx, p, update))
	case !p.snapshot.Aborted && told:
		err := r.patchRevision(ctx, p, update, map[string]any{
			workv1alpha1.AnnotationAborted: nil, workv1alpha1.AnnotationAbortReason: nil, workv1alpha1.AnnotationRestored: nil,
			// A retry is a rollout of its own: what the clusters did before says nothing about it.
			workv1alpha1.AnnotationRetriedAt: p.now.UTC().Format(timeFormat),
		})
		if err == nil || apierrors.IsConflict(err) {
			return false, err
		}
		p.pending = true
		return false, r.reportInvalid(ctx, p, status.InvalidSpec(r.refused(p, err)+"; until then the rollout does not begin again"))
	}
	return true, nil
}

// untoldPatience is for how long an abort waits for the revision to tell of it, where that fails for a reason that may pass.
const untoldPatience = 10 * time.Second

// goesOnUntold says whether an abort is carried out though the revision can't tell of it. What the revision tells is the second copy
// (R16), and where the status holds the first one, the fleet does not stay on the bad revision for want of it. It is tried again in each pass.
func (r *rolloutReconciler) goesOnUntold(p *pass, err error) (bool, error) {
	if err == nil || apierrors.IsConflict(err) || r.memory.owners.prunedLately(p.key, p.now) {
		return false, err
	}
	// A person may have set any time, also one to come.
	if age := p.now.Sub(p.revisions.AbortedTime.Time); !isLasting(err) && age >= 0 && age < untoldPatience {
		return false, err
	}
	p.problem(r.refused(p, err))
	return true, nil
}

// tellAborted writes on a revision that its rollout was aborted, and why, before any work goes back.
func (c *Controller) tellAborted(ctx context.Context, p *pass, update *revision.Revision) error {
	annotations := map[string]any{
		workv1alpha1.AnnotationAborted: p.revisions.AbortedTime.UTC().Format(timeFormat), workv1alpha1.AnnotationRestored: nil,
	}
	// The works are as they were when the abort was decided, maybe by a process that is gone: its grace was over.
	s := c.view(p, p.update, false).Watched()
	if reason := c.memory.owners.abortReason(p.key, p.revisions.AbortedTime); reason != "" {
		annotations[workv1alpha1.AnnotationAbortReason] = reason // The works may have gone back meanwhile.
	} else if status.AbortSetBy(p.object.ManagedFields) != "" {
		annotations[workv1alpha1.AnnotationAbortReason] = byHand + p.setter()
	} else if abort := rollout.Decide(s).Abort; abort != nil {
		annotations[workv1alpha1.AnnotationAbortReason] = abort.Reason
	}
	if latest := p.history.LatestCurrent(); latest != nil && latest.Hash == update.Hash && p.revisions.CurrentRevision != update.Hash {
		// A cluster relapsed before the status told that it is current. What the clusters go back to is the latest one then (R16).
		annotations[workv1alpha1.AnnotationCurrentSince] = nil
	}
	return c.patchRevision(ctx, p, update, annotations)
}
