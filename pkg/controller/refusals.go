package controller

import (
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/klog/v2"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/controller/internal/memory"
	"github.com/open-cluster-management-io/work-rollback/pkg/lifecycle"
	"github.com/open-cluster-management-io/work-rollback/pkg/metrics"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// clusterWork identifies the write of a cluster's work at the desired revision.
func clusterWork(cluster string) string { return "cluster " + cluster }

// clusterLabels identifies the write of the labels of a cluster's work that don't depend on the revision.
func clusterLabels(cluster string) string { return "labels in cluster " + cluster }

// clusterHash identifies the write of an older revision's hash to a work that another hub wrote.
func clusterHash(cluster string) string { return "hash in cluster " + cluster }

// targetOf returns the target of a write of a revision in this pass.
func (p *pass) targetOf(rev *work.Revision) string {
	return lifecycle.Target(p.Snapshot, rev)
}

// abortOf returns the abort in which a work is rolled back to a revision.
func (p *pass) abortOf(rev *work.Revision) string {
	return lifecycle.AbortOf(rev, p.Ledger.Abort.At)
}

func (p *pass) attemptOf(w *rollout.Write) memory.Attempt {
	switch {
	case w.Revision == nil:
		return memory.Attempt{What: clusterLabels(w.Cluster), Target: fmt.Sprint(p.object.Generation)}
	case w.Revision.Hash != p.Plan.Desired.Hash:
		return memory.Attempt{What: clusterHash(w.Cluster), Target: p.targetOf(w.Revision)}
	}
	return memory.Attempt{What: clusterWork(w.Cluster), Target: p.targetOf(w.Revision), Cluster: w.Cluster, Last: w.LastTry}
}

func deletionOf(work *workv1.ManifestWork) memory.Attempt {
	return memory.Attempt{What: "deletion in cluster " + work.Namespace, Target: string(work.UID)}
}

// sortResults separates the writes that can succeed when retried from those that the API server rejects. Rejected
// writes don't hold up an abort, and are retried at their own pace. sortResults returns the errors that the queue
// retries.
func (c *Controller) sortResults(p *pass, results []memory.Attempted) error {
	var errs []error
	for i := range results {
		err := results[i].Err
		if !passing(err) {
			continue
		}
		if i < len(p.Plan.Writes) {
			w := &p.Plan.Writes[i]
			p.unrestored = p.unrestored || p.leavesAbortUndone(w)
			err = fmt.Errorf("writing the ManifestWork of cluster %s: %w", w.Cluster, err)
		}
		if c.triesAgain(p, err) {
			errs = append(errs, err)
		}
	}
	rejected := func(result memory.Attempted) bool { return memory.IsLasting(result.Err) }
	if slices.ContainsFunc(results[:len(p.Plan.Writes)], rejected) {
		p.urgent = true // The next pass takes the rejections into account.
		p.lookAgain(time.Millisecond)
	}
	if held := p.Plan.Held; held != nil {
		results = append(results, untried(attemptsOf(p, held.Writes, held.Deletes))...)
	}
	c.namePersistentErrors(p, results)
	return utilerrors.NewAggregate(errs)
}

// leavesAbortUndone reports whether an abort stays unfinished while a write fails. Neither a trim nor a cluster whose
// writes were rejected before holds up an abort.
func (p *pass) leavesAbortUndone(w *rollout.Write) bool {
	_, stuck := p.Snapshot.Rejected[w.Cluster]
	return p.Snapshot.Aborted && w.Revision != nil && !stuck && !w.Trim
}

// passing reports whether a write failed with a transient error: the API server did not reject it, now or recently.
func passing(err error) bool {
	return err != nil && !memory.IsLasting(err) && !errors.Is(err, memory.ErrRefusedLately)
}

// triesAgain schedules the pass that retries a write, and reports whether the error counts for the queue's back-off.
func (c *Controller) triesAgain(p *pass, err error) bool {
	switch {
	case errors.Is(err, errAway):
		p.lookAgain(awayInterval)
		return false
	case errors.Is(err, memory.ErrLater):
		p.lookAgain(time.Millisecond)
		return false
	case apierrors.IsConflict(err), errors.Is(err, memory.ErrUnseen):
		p.lookAgain(conflictInterval)
		return false
	}
	p.lookAgain(memory.RefusedInterval)
	return true
}

// namePersistentErrors records the results of a pass's writes, and names the writes that keep failing: writes that the
// API server rejects, and writes that fail in every pass although they are retried. It does not name a short
// disruption.
func (c *Controller) namePersistentErrors(p *pass, results []memory.Attempted) {
	for _, cluster := range p.Plan.Postponed {
		attempt := memory.Attempt{What: clusterWork(cluster), Cluster: cluster, Target: p.targetOf(p.Update)}
		results = append(results, memory.Attempted{Attempt: attempt, Err: memory.ErrLater})
	}
	outcome := p.memory.Attempted(results, p.now)
	if len(outcome.Refused) > 0 {
		if !outcome.RetryAt.IsZero() {
			p.lookAgain(outcome.RetryAt.Sub(p.now))
		}
		klog.Background().V(2).Info("The API server rejects ManifestWorks", "manifestWorkReplicaSet", p.key,
			"count", len(outcome.Refused), "first", outcome.Refused[0])
		p.rejection = fmt.Sprintf("the API server rejects %s; fix the cause: each write is %s: %s",
			countOf(len(outcome.Refused)), p.retried("retried "+status.RetryInterval(p.Plan)), status.FirstOf(outcome.Refused))
		p.problem(p.rejection)
	}
	if len(outcome.Persisting) > 0 {
		p.problem(fmt.Sprintf("writes of %s keep failing; fix the cause: each write is %s: %s",
			countOf(len(outcome.Persisting)), p.retried("retried"), status.FirstOf(outcome.Persisting)))
	}
}

func countOf(works int) string {
	if works == 1 {
		return "1 ManifestWork"
	}
	return fmt.Sprintf("%d ManifestWorks", works)
}

func writeResult(err error) metrics.WriteResult {
	switch {
	case err == nil:
		return metrics.Written
	case apierrors.IsConflict(err), errors.Is(err, memory.ErrUnseen):
		return metrics.Conflict
	case memory.IsLasting(err):
		return metrics.Refused
	default:
		return metrics.Failed
	}
}

// refused records that a revision could not be written, and returns the message for a condition, because users may not
// be able to read the log. The message keeps the first answer as long as the API server gives the same reason (P7).
func (c *Controller) refused(p *pass, err error) string {
	p.errs = append(p.errs, err)
	p.lookAgain(memory.RefusedInterval)
	what := ""
	if request := (&memory.RequestError{}); errors.As(err, &request) {
		what = request.What
	}
	p.failing = append(p.failing, what)
	return p.memory.Answered(what, err) +
		"; fix the cause (a quota, a policy, a webhook or a missing permission may be the reason): the request is retried"
}

// retried returns the time at which a failed write is retried: as usual, or after a pause.
func (p *pass) retried(usual string) string {
	if p.object.Spec.Paused {
		return "retried after the pause"
	}
	return usual
}
