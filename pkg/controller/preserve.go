package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/klog/v2"
	workv1 "open-cluster-management.io/api/work/v1"
	upstream "open-cluster-management.io/api/work/v1alpha1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/controller/internal/memory"
	"github.com/open-cluster-management-io/work-rollback/pkg/metrics"
	"github.com/open-cluster-management-io/work-rollback/pkg/orphan"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
	"github.com/open-cluster-management-io/work-rollback/pkg/workcache"
)

// preserve deletes the works of an object whose workloads stay on the clusters. Package orphan decides the next step
// for each work, and a work is deleted once its agent has released everything. The works are listed from the API server
// at the beginning and at the end. In between, the cache shows which works have changed.
func (c *Controller) preserve(ctx context.Context, p *pass) error {
	if c.Broker != nil {
		told := status.PreservingNotSupported()
		return c.reportDeleting(ctx, p, &told)
	}
	works, live := p.works, false
	if !p.memory.Releases.Begun() {
		listed, err := c.liveWorks(ctx, p)
		if err != nil {
			return err
		}
		works, live = listed, true
		p.memory.Releases.Begin()
	}
	found := c.releaseAll(ctx, p, works, live)
	if found.over(p) && !live {
		listed, err := c.liveWorks(ctx, p)
		if err != nil {
			return err
		}
		found = c.releaseAll(ctx, p, listed, true)
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case found.over(p) && !p.wrote.Load():
		return c.preserved(ctx, p, found)
	case p.wrote.Load():
		p.lookAgain(time.Millisecond) // The next pass checks the works that this pass wrote.
	}
	found.progress.Problems = append(found.progress.Problems, p.problems...)
	told := status.ReleasingWorkloads(c.progressOf(p, found))
	return utilerrors.NewAggregate([]error{found.err, c.reportDeleting(ctx, p, &told)})
}

// preserved removes the finalizer of the object.
func (c *Controller) preserved(ctx context.Context, p *pass, found *releases) error {
	if err := c.patcher(p).RemoveFinalizer(ctx, p.object.ManifestWorkReplicaSet, workv1alpha1.Finalizer); err != nil {
		return err
	}
	note := "the ManifestWorks are deleted, and their workloads stay on the clusters"
	if len(found.progress.TooLate) > 0 {
		note += "; but " + status.Lost(found.progress.TooLate)
	}
	c.event(p, nil, corev1.EventTypeNormal, workv1alpha1.EventWorkloadsReleased, "Delete", note)
	return nil
}

// decidePreserve decides whether the workloads stay, and reports whether it persisted this decision. A deletion whose
// workloads do not stay does not change the ledger.
func (c *Controller) decidePreserve(ctx context.Context, p *pass) (persisted bool, err error) {
	before := &p.reading.Ledger
	p.Ledger = before.Clone()
	p.Ledger.Preserve = before.Preserves(p.object.Spec.PreserveResourcesOnDeletion)
	p.Ledger.Follow(before, p.object.UID)
	c.nameLostPlaces(p)
	switch {
	case !p.Ledger.Preserve && !before.Preserve, p.reading.Later != nil, !c.lacksLedger(p):
		return false, nil
	case !p.Ledger.Preserve:
		p.memory.Releases.End()
	}
	return true, c.persist(ctx, p, func() error {
		told := meta.FindStatusCondition(p.object.Status.Conditions, workv1alpha1.ConditionDeleting)
		if !p.Ledger.Preserve {
			told = nil
		}
		return c.reportDeleting(ctx, p, told)
	})
}

// releases is the result of a pass over all works.
type releases struct {
	progress status.Releasing
	// waits is true if works must be checked again. named counts the works that the deletion waits for.
	waits bool
	named int
	err   error
}

// over reports whether the object no longer has to wait.
func (f *releases) over(p *pass) bool {
	return !f.waits && (p.object.Spec.CascadeDeletionPolicy != upstream.Foreground || f.named == 0)
}

// releaseAll takes the next step for as many works as one pass may write.
func (c *Controller) releaseAll(ctx context.Context, p *pass, works []*workv1.ManifestWork, live bool) *releases {
	steps, results := make([]orphan.Step, len(works)), make([]memory.Attempted, len(works))
	left := c.budget(p)
	c.parallel(ctx, len(works), func(i int) {
		results[i].Attempt = memory.Attempt{What: clusterWork(works[i].Namespace), Target: string(works[i].UID)}
		steps[i], results[i].Err = c.release(ctx, p, works[i], live, left)
	})
	found := &releases{}
	errs := make([]error, 0, len(works))
	for i, work := range works {
		found.add(p, work, &steps[i], results[i].Err)
		switch err := results[i].Err; {
		case err == nil, errors.Is(err, memory.ErrRefusedLately):
		case errors.Is(err, errStored):
			p.lookAgain(memory.RefusedInterval)
		case c.triesAgain(p, err):
			errs = append(errs, fmt.Errorf("releasing the workloads of ManifestWork %s/%s: %w", work.Namespace, work.Name, err))
		}
	}
	outcome := p.memory.Attempted(results, p.now)
	if !outcome.RetryAt.IsZero() {
		p.lookAgain(outcome.RetryAt.Sub(p.now))
	}
	if failing := append(outcome.Refused, outcome.Persisting...); len(failing) > 0 {
		found.progress.Problems = []string{fmt.Sprintf(
			"%s can't be written; fix the cause: the hub retries each write at least once a minute: %s",
			countOf(len(failing)), status.FirstOf(failing))}
	}
	found.err = utilerrors.NewAggregate(errs)
	return found
}

// add records the next step of a work. The deletion does not wait for a work with a name that no hub gives to works.
func (f *releases) add(p *pass, work *workv1.ManifestWork, step *orphan.Step, err error) {
	named := p.named(work)
	switch {
	case err != nil:
		f.waits = true
	case !step.Final():
		f.waits = f.waits || named
	}
	if !named {
		return
	}
	f.named++
	switch {
	case err != nil || !step.Final():
		f.progress.Waiting = append(f.progress.Waiting, work.Namespace)
	case step.Action == orphan.TooLate:
		f.progress.TooLate = append(f.progress.TooLate, work.Namespace)
	default:
		f.progress.Leaving = append(f.progress.Leaving, work.Namespace)
	}
	for _, held := range step.Unreleased {
		f.progress.Unreleased = append(f.progress.Unreleased, fmt.Sprintf("cluster %s, %s: %s", work.Namespace, held.Name, held.Message))
	}
}

// release takes the next step for a work, either as the cache shows it or as read from the API server.
func (c *Controller) release(
	ctx context.Context, p *pass, work *workv1.ManifestWork, live bool, left func() bool,
) (step orphan.Step, err error) {
	if !live && orphan.AwaitsAgent(work) {
		return orphan.Step{Action: orphan.Wait}, nil
	}
	if known, ok := p.memory.Releases.Step(work); ok {
		return known, nil
	}
	attempt := memory.Attempt{What: clusterWork(work.Namespace), Target: string(work.UID)}
	if p.memory.RefusedLately(attempt, p.now) {
		return step, memory.ErrRefusedLately
	}
	err = c.inTurn(p.turn, left, func() error {
		whole := work
		if !live {
			if whole, err = c.whole(ctx, work); whole == nil {
				step.Action = orphan.Leaving
				return err
			}
		}
		step, err = c.releaseWhole(ctx, p, whole)
		return err
	})
	return step, err
}

// whole reads a work live; nil if it is gone.
func (c *Controller) whole(ctx context.Context, work *workv1.ManifestWork) (*workv1.ManifestWork, error) {
	live, err := c.writer.Get(ctx, work.Namespace, work.Name)
	switch {
	case apierrors.IsNotFound(err), err == nil && live.UID != work.UID:
		return nil, nil //nolint:nilnil // The comment on whole explains this.
	case err != nil:
		return nil, fmt.Errorf("reading ManifestWork %s/%s: %w", work.Namespace, work.Name, err)
	case workcache.IsTrimmed(live):
		return nil, fmt.Errorf("ManifestWork %s/%s has the annotation of a trimmed one", work.Namespace, work.Name)
	}
	return live, nil
}

// releaseWhole takes the next step for a work that was read live, and returns the step to expect next.
func (c *Controller) releaseWhole(ctx context.Context, p *pass, work *workv1.ManifestWork) (orphan.Step, error) {
	step := orphan.Next(work)
	if !p.named(work) && !step.Final() {
		step = orphan.Step{Action: orphan.Delete} // A user added the owner label.
	}
	if step.Spec != nil && p.memory.Releases.Repeats(work.UID, step.Spec, p.now) {
		return orphan.Step{}, errStored
	}
	version, err := work.ResourceVersion, error(nil)
	switch {
	case step.Action == orphan.Delete:
		klog.FromContext(ctx).V(2).Info("Deleting a ManifestWork whose workloads stay", "cluster", work.Namespace, "name", work.Name)
		err = c.deleteSeen(ctx, p, work)
		step.Action = orphan.Leaving
	case step.Spec != nil:
		version, err = c.setSpec(ctx, p, work, &step)
		step.Action = orphan.Wait
	}
	switch {
	case err != nil:
		return orphan.Step{}, err
	case step.Spec != nil && version == work.ResourceVersion:
		return orphan.Step{}, errStored
	}
	return p.memory.Releases.Looked(work.UID, version, step), nil
}

// errStored is the error of a work that the API server stores differently from what is written. The write is retried later.
var errStored = errors.New("the API server stores the ManifestWork differently from what the hub writes: update the ManifestWork CRD, " +
	"or look for a webhook that changes spec.deleteOption or spec.manifestConfigs")

// setSpec writes the spec of a step, and returns the resulting version of the work.
func (c *Controller) setSpec(
	ctx context.Context, p *pass, work *workv1.ManifestWork, step *orphan.Step,
) (version string, err error) {
	klog.FromContext(ctx).V(2).Info("Writing a ManifestWork whose workloads stay", "step", step.Action, "cluster", work.Namespace)
	answer, err := c.writer.SetSpec(ctx, work, step.Spec)
	c.Metrics.WorkWrite(metrics.Patch, writeResult(err))
	if err != nil {
		return "", err
	}
	if c.shows(work) {
		c.wroteWork(p, answer)
	}
	p.wrote.Store(true)
	p.memory.Releases.Wrote(work.UID, step.Spec, p.now)
	return answer.GetResourceVersion(), nil
}

// progressOf returns the progress of a pass for the condition. It also emits an event for workloads that can no longer
// be kept.
func (c *Controller) progressOf(p *pass, found *releases) *status.Releasing {
	progress := &found.progress
	for _, clusters := range [][]string{progress.Waiting, progress.Leaving, progress.TooLate, progress.Unreleased} {
		slices.Sort(clusters)
	}
	progress.Clusters = p.memory.Releases.Clusters(max(found.named, p.object.Status.Summary.Total))
	if len(progress.TooLate) > 0 && p.memory.Announce(workv1alpha1.EventWorkloadsNotReleased) {
		c.event(p, nil, corev1.EventTypeWarning, workv1alpha1.EventWorkloadsNotReleased, "Delete", status.Lost(progress.TooLate))
	}
	return progress
}

// reportDeleting writes the state and the condition Deleting, if they changed; nil for no condition. The rest of the status stays as it
// was when the deletion began.
func (c *Controller) reportDeleting(ctx context.Context, p *pass, told *metav1.Condition) error {
	wanted := p.object.Status.DeepCopy()
	status.SetDeleting(wanted, told, p.object.Generation, p.transitionTime())
	status.Reconciled(wanted)
	wanted.State = workv1alpha1.StateDeleting
	if p.deciding {
		if err := p.Ledger.Project(wanted); err != nil {
			return err
		}
	}
	c.Metrics.Observe(p.key, metrics.Observation{Stage: workv1alpha1.StateDeleting, DeletingSince: deletingSince(p.works)})
	_, err := c.store(ctx, p, wanted, !p.deciding)
	return err
}
