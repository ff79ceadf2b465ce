package controller

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/klog/v2"

	"github.com/open-cluster-management-io/work-rollback/pkg/metrics"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision/plan"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// refusedInterval is how often a write that the API server refuses is tried again (R11). The queue's own back-off grows to a quarter of an hour,
// and whoever removed the cause would wait for it; with a try in each pass the reports of a thousand agents would be as many tries.
const refusedInterval = time.Minute

// errRefusedLately says that a write was not tried: the API server refused it less than a minute ago.
var errRefusedLately = errors.New("refused less than a minute ago")

// attempt is a write of a ManifestWork, as this process remembers it.
type attempt struct {
	// what is written, as a person calls it.
	what string
	// target is what it is to become: another target is another write, of which nothing is known.
	target string
	// cluster is whose work becomes the desired revision; empty for another write.
	cluster string
}

// clusterWork is the work of a cluster at the desired revision.
func clusterWork(cluster string) string { return "cluster " + cluster }

// clusterLabels are the labels of that work which are not about a revision.
func clusterLabels(cluster string) string { return "labels in cluster " + cluster }

// clusterHash is the hash of an older revision, where another hub wrote the work.
func clusterHash(cluster string) string { return "hash in cluster " + cluster }

// targetOf is what a write of a revision is to achieve in this pass.
func (p *pass) targetOf(rev *rollout.Revision) string {
	return plan.Target(rev, p.object.Generation, p.snapshot.Aborted)
}

// abortOf is the abort that a work goes back to a revision in.
func (p *pass) abortOf(rev *rollout.Revision) string {
	return plan.AbortOf(rev, p.revisions.AbortedTime.Time)
}

func (p *pass) attemptOf(w *rollout.Write) attempt {
	switch {
	case w.Revision == nil:
		return attempt{what: clusterLabels(w.Cluster), target: fmt.Sprint(p.object.Generation)}
	case w.Revision.Hash != p.plan.Desired.Hash:
		return attempt{what: clusterHash(w.Cluster), target: p.targetOf(w.Revision)}
	}
	return attempt{what: clusterWork(w.Cluster), target: p.targetOf(w.Revision), cluster: w.Cluster}
}

func deletionOf(d *rollout.Delete) attempt {
	return attempt{what: "deletion in cluster " + d.Work.Cluster(), target: string(d.Work.Object.UID)}
}

// sortOut tells the writes that will succeed when tried again from those that the API server refuses. The latter take no slot, and don't
// hold an abort up (R4, R11). The errors are those that the queue tries again.
func (r *deployReconciler) sortOut(p *pass, writes, deletions []error) error {
	var errs []error
	results := make([]attempted, 0, len(writes)+len(deletions))
	refused := 0
	for i, err := range writes {
		w := &p.plan.Writes[i]
		results = append(results, attempted{p.attemptOf(w), err})
		if isLasting(err) {
			refused++
			continue
		}
		if err == nil || errors.Is(err, errRefusedLately) {
			continue
		}
		if _, stuck := p.snapshot.Refused[w.Cluster]; w.Revision != nil && !stuck {
			p.aborting = p.aborting || p.snapshot.Aborted
		}
		if r.triesAgain(p, err) {
			errs = append(errs, fmt.Errorf("writing the ManifestWork of cluster %s: %w", w.Cluster, err))
		}
	}
	for i, err := range deletions {
		results = append(results, attempted{deletionOf(&p.plan.Deletes[i]), err})
		if err != nil && !isLasting(err) && !errors.Is(err, errRefusedLately) && r.triesAgain(p, err) {
			errs = append(errs, err)
		}
	}
	r.nameFailures(p, results)
	if refused > 0 {
		r.planAgain(p)
	}
	return utilerrors.NewAggregate(errs)
}

// triesAgain asks for the pass that tries a write again, and reports whether the queue's back-off shall count it.
func (r *deployReconciler) triesAgain(p *pass, err error) bool {
	switch {
	case errors.Is(err, errAway):
		p.lookAgain(awayInterval)
		return false
	case errors.Is(err, errLater):
		p.lookAgain(time.Millisecond)
		return false
	case apierrors.IsConflict(err), errors.Is(err, errUnseen):
		p.lookAgain(conflictInterval)
		return false
	}
	p.lookAgain(refusedInterval)
	return true
}

// nameFailures notes what the writes of a pass came to, and names those that fail for long: the ones that the API server refuses, and those
// that fail in one pass after the other though they are tried again. A hiccup is no news.
func (r *deployReconciler) nameFailures(p *pass, results []attempted) {
	kept := make([]string, 0, len(p.plan.Refused))
	for _, cluster := range p.plan.Refused {
		// While the revision is retried, its labels are no write of their own. They are again if that is refused.
		kept = append(kept, clusterWork(cluster), clusterLabels(cluster), clusterHash(cluster))
	}
	for _, cluster := range p.plan.Postponed {
		kept = append(kept, clusterWork(cluster))
	}
	refused, persisting, retryAt := r.memory.owners.attempted(p.key, results, kept, p.now)
	if len(refused) > 0 {
		if !retryAt.IsZero() {
			p.lookAgain(retryAt.Sub(p.now))
		}
		klog.Background().V(2).Info("The API server rejects ManifestWorks", "manifestWorkReplicaSet", p.key, "count", len(refused), "first", refused[0])
		p.problem(fmt.Sprintf("the API server rejects %s; fix the cause, each write is retried every minute: %s", countOf(len(refused)), firstOf(refused)))
	}
	if len(persisting) > 0 {
		p.problem(fmt.Sprintf("%s can't be written for some time; look at what the API server says, each write is retried: %s",
			countOf(len(persisting)), firstOf(persisting)))
	}
}

// planAgain decides with the refusals of this pass: the status says at once how things stand with them, and the clusters whose turn it is
// instead are not kept waiting. What this pass wrote, no cache shows yet: then the next pass decides (R15).
func (r *deployReconciler) planAgain(p *pass) {
	if p.wrote.Load() {
		p.lookAgain(time.Millisecond)
		return
	}
	r.noteWrites(p)
	snapshot := p.facts.Snapshot(&p.revisions, p.update, p.snapshot.Aborted)
	decided := rollout.Decide(snapshot)
	if decided.Abort != nil || len(decided.Writes) > 0 {
		p.urgent = true
		p.lookAgain(time.Millisecond)
	}
	if decided.Abort == nil {
		p.snapshot, p.plan = snapshot, decided
		p.lookAgain(decided.Recheck)
	}
}

func countOf(works int) string {
	if works == 1 {
		return "1 ManifestWork"
	}
	return fmt.Sprintf("%d ManifestWorks", works)
}

// isLasting says whether the API server refuses a write: trying again changes nothing by itself.
func isLasting(err error) bool {
	switch {
	case apierrors.IsConflict(err), errors.Is(err, errUnseen), errors.Is(err, errLater):
		return false
	case apierrors.IsTooManyRequests(err), apierrors.IsServerTimeout(err), apierrors.IsTimeout(err),
		apierrors.IsServiceUnavailable(err), apierrors.IsInternalError(err):
		return false
	}
	var known apierrors.APIStatus
	return errors.As(err, &known) && known.Status().Code < http.StatusInternalServerError
}

func writeResult(err error) metrics.WriteResult {
	switch {
	case err == nil:
		return metrics.Written
	case apierrors.IsConflict(err), errors.Is(err, errUnseen):
		return metrics.Conflict
	case isLasting(err):
		return metrics.Refused
	default:
		return metrics.Failed
	}
}

// errorsShown bounds what a message holds.
const errorsShown = 3

func firstOf(texts []string) string {
	if len(texts) > errorsShown {
		return strings.Join(texts[:errorsShown], "; ") + fmt.Sprintf("; and %d more", len(texts)-errorsShown)
	}
	return strings.Join(texts, "; ")
}

// requestError is a request that failed, by what it was: the words of the API server follow.
type requestError struct {
	what string
	err  error
}

// Error implements error.
func (e *requestError) Error() string { return e.what + ": " + e.err.Error() }

// Unwrap implements errors.Unwrap.
func (e *requestError) Unwrap() error { return e.err }

func revisionRequest(verb, namespace, name string, err error) error {
	return &requestError{what: fmt.Sprintf("%s ControllerRevision %s/%s", verb, namespace, name), err: err}
}

// refused notes that a revision could not be written, and says it for a condition: the log alone is not read (R12). The words are those of the
// first time, as long as the API server gives the same reason (P7).
func (c *Controller) refused(p *pass, err error) string {
	p.errs = append(p.errs, err)
	p.lookAgain(refusedInterval)
	what := ""
	if request := (&requestError{}); errors.As(err, &request) {
		what = request.what
	}
	p.failing = append(p.failing, what)
	return c.memory.owners.answered(p.key, what, err) +
		"; fix the cause (a quota, a policy, a webhook or a right may be the reason), the request is retried"
}
