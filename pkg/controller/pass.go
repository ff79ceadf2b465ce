package controller

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/controller/internal/memory"
	"github.com/open-cluster-management-io/work-rollback/pkg/controller/internal/queue"
	"github.com/open-cluster-management-io/work-rollback/pkg/ledger"
	"github.com/open-cluster-management-io/work-rollback/pkg/lifecycle"
	"github.com/open-cluster-management-io/work-rollback/pkg/metrics"
	"github.com/open-cluster-management-io/work-rollback/pkg/replicaset"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// Sync makes one pass over the ManifestWorkReplicaSet with this "namespace/name". It returns the time at which the next pass is due; zero
// for none. A pass that has to wait is not an error.
func (c *Controller) Sync(ctx context.Context, key string) (again time.Duration, err error) {
	if again, err = c.passOrDefer(ctx, key); errors.Is(err, queue.ErrDeferred) {
		err = nil
	}
	return again, err
}

// passOrDefer makes a pass like Sync. It returns queue.ErrDeferred if the pass has to wait.
func (c *Controller) passOrDefer(ctx context.Context, key string) (again time.Duration, err error) {
	cached, exists, err := c.stores.ReplicaSets.GetByKey(key)
	if err != nil || !exists {
		c.owners.Forget(key)
		c.Metrics.Forget(key)
		return 0, err
	}
	object := cached.(*replicaset.Object)
	known := c.owners.OwnerOf(key, object.UID)
	if wait := known.Pace.Wait(c.Clock.Now()); wait > 0 {
		return wait, queue.ErrDeferred
	}
	if wait := c.yields(key, object, known); wait > 0 {
		return wait, queue.ErrDeferred
	}
	if !c.caughtUp(ctx, known) {
		c.Metrics.Reconciled(metrics.Behind)
		return catchUpInterval, queue.ErrDeferred
	}
	result := metrics.Erred // Remains so if the pass panics.
	defer func() { c.Metrics.Reconciled(result) }()
	again, err = c.pass(ctx, key, object)
	if err == nil {
		result = metrics.Passed
	}
	return again, err
}

// pass runs a pass. Each step reports whether the pass continues.
func (c *Controller) pass(ctx context.Context, key string, object *replicaset.Object) (again time.Duration, err error) {
	ctx = klog.NewContext(ctx, klog.FromContext(ctx).WithValues("manifestWorkReplicaSet", key))
	p := c.newPass(object, key)
	defer func() { p.memory.Pace.Passed(p.now, c.Clock.Now(), p.wrote.Load() || p.urgent) }()
	if err := c.observe(p); err != nil {
		return 0, err
	}
	for _, step := range []func(context.Context, *pass) (goOn bool, err error){c.finalize, c.decide, c.deploy, c.reportStatus, c.prune} {
		goOn, err := step(ctx, p)
		switch {
		case apierrors.IsConflict(err):
			p.lookAgain(conflictInterval)
		case err != nil:
			p.errs = append(p.errs, err)
		}
		if !goOn {
			break
		}
	}
	p.memory.StillFail(p.failing)
	p.memory.LeaveAbort(p.abortLeft())
	return p.recheck, p.err()
}

// caughtUp reports whether every cache shows this process's own last writes. A cache never shows a write if its object
// was deleted before the cache saw it. So caughtUp reads objects that are late from the API server. A cache that lags
// behind lags for all objects, and reading all of them at once would slow down the writes of an abort. So only a few
// objects are read at a time, and more are read only if all of those were deleted.
func (c *Controller) caughtUp(ctx context.Context, owner *memory.Owner) bool {
	if owner.Expectations.Behind() == 0 {
		return true
	}
	for goOn := true; goOn; {
		late := owner.Expectations.Late(c.Clock.Now(), catchUpQuestions)
		goOn = len(late) > 0
		for _, w := range late {
			if w.Shown() || !c.isGone(ctx, w) {
				goOn = false
				continue
			}
			owner.Expectations.Forget(w)
		}
	}
	return owner.Expectations.Behind() == 0
}

func (c *Controller) isGone(ctx context.Context, w *memory.Write) bool {
	name, err := cache.ParseObjectName(w.Key)
	if err != nil {
		return true
	}
	var live metav1.Object
	switch w.Store {
	case c.stores.Works:
		live, err = c.writer.Get(ctx, name.Namespace, name.Name)
	case c.stores.Revisions:
		live, err = c.revisions.Get(ctx, name.Namespace, name.Name)
	default:
		live, err = c.objects.Get(ctx, name.Namespace, name.Name)
	}
	return apierrors.IsNotFound(err) || (err == nil && live.GetUID() != w.UID)
}

// wrote records that this pass wrote an object, with the API server's response.
func (c *Controller) wrote(p *pass, store cache.Store, answer metav1.Object) {
	p.wrote.Store(true)
	p.memory.Expectations.Wrote(store, answer, c.Clock.Now())
}

// deleted records that this pass deleted an object.
func (c *Controller) deleted(p *pass, store cache.Store, object metav1.Object) {
	p.wrote.Store(true)
	p.memory.Expectations.Deleted(store, object, c.Clock.Now())
}

func (c *Controller) wroteWork(p *pass, work metav1.Object) { c.wrote(p, c.stores.Works, work) }

func (c *Controller) wroteRevision(p *pass, revision *appsv1.ControllerRevision) {
	c.wrote(p, c.stores.Revisions, revision)
}

// pass is one pass over a ManifestWorkReplicaSet: its observations, decisions and actions.
type pass struct {
	// memory is what this process knows about the object.
	memory *memory.Owner
	// key is "namespace/name", and turn is the lane and key under which this pass's writes take slots.
	key  string
	turn queue.Turn
	now  time.Time
	// gap is the most recent gap before now.
	gap rollout.Gap

	observed
	decided
	done
}

// observed is the data that a pass reads before it decides. After noteWorks, it changes only by the API server's
// answers to this pass.
type observed struct {
	// object is shared with the cache, and must not be changed.
	object *replicaset.Object
	// facts is the input of the decisions about the revisions.
	facts lifecycle.Observation
	// history holds the revisions; none if they can't be read now. works are the ManifestWorks, in order.
	history revision.History
	works   []*workv1.ManifestWork
	// seen is the remembered state of each work.
	seen []*memory.Work
	// reading is the ledger that this pass found.
	reading ledger.Reading
}

// decided holds the decisions of packages lifecycle and rollout about the observed facts.
type decided struct {
	lifecycle.Decision
	// standing is a plan that the status reports instead of Plan; nil for none.
	standing *rollout.Plan
}

// done holds the actions of a pass, and the work that it leaves to the next pass.
type done struct {
	// wrote is true if this pass changed something. urgent is true if the next pass should come as soon as possible.
	wrote  atomic.Bool
	urgent bool
	// deciding is true if this pass persists a decision.
	deciding bool
	// unrestored is true if this pass did not restore all works that it should have restored.
	unrestored bool
	// answer is the API server's answer to this pass's last write of the object.
	answer *replicaset.Object
	// problems are for the conditions. Each names its object and the remedy.
	problems []string
	// rejection is the problem that names the works that the API server rejects; empty if there is none.
	rejection string
	// failing are the failed requests from this pass that the conditions name, except writes of works.
	failing []string
	errs    []error
	// recheck is the time until the next pass is due; zero for never.
	recheck time.Duration
}

func (c *Controller) newPass(object *replicaset.Object, key string) *pass {
	p := &pass{key: key, memory: c.owners.OwnerOf(key, object.UID), turn: queue.Turn{Lane: c.laneOf(key), Key: key}}
	now, gap := c.Connection.Look()
	p.now, p.gap, p.object = now.Round(0), rollout.Gap(gap), object
	p.facts = lifecycle.Observation{
		Now: p.now, Object: object.ManifestWorkReplicaSet, Unreadable: object.DecodeErr, PlacementsKnown: object.PlacementsKnown,
		Owner: workv1alpha1.OwnerLabelValue(object.Namespace, object.Name), OwnerHash: c.OwnerHash,
	}
	return p
}

// lookAgain schedules another pass within the given time.
func (p *pass) lookAgain(after time.Duration) {
	if after > 0 && (p.recheck == 0 || after < p.recheck) {
		p.recheck = after
	}
}

func (p *pass) err() error { return utilerrors.NewAggregate(p.errs) }

// transitionTime returns the pass's time as a condition stores it.
func (p *pass) transitionTime() metav1.Time { return metav1.NewTime(p.now) }

// problem records a problem for a condition, once.
func (p *pass) problem(text string) {
	if !slices.Contains(p.problems, text) {
		p.problems = append(p.problems, text)
	}
}

// patcher returns a patcher of this pass's object. Its patches carry the resourceVersion that the pass decided on.
func (c *Controller) patcher(p *pass) replicaset.Patcher {
	return c.objects.Patcher(p.object.Namespace, func(answer *replicaset.Object, written *unstructured.Unstructured) {
		p.answer = answer
		if p.memory.Verified == p.object.ResourceVersion {
			p.memory.Verified = answer.ResourceVersion
		}
		c.wrote(p, c.stores.ReplicaSets, written)
	})
}

// abortLeft returns the state of the object's abort after a pass. An abort that has yet to restore works is in
// progress. A paused abort writes nothing, so it does not need a worker that is reserved for aborts.
func (p *pass) abortLeft() memory.Abort {
	aborted := p.Snapshot != nil && p.Snapshot.Aborted
	switch {
	case !p.object.DeletionTimestamp.IsZero() || p.object.Spec.Paused:
		return memory.NoAbort
	case aborted && p.Snapshot.Current == nil:
		return memory.AbortStuck
	case p.unrestored:
		return memory.AbortUnderWay
	}
	return memory.NoAbort
}

// defaultWriters is the maximum number of concurrent writes, over all objects. At this number, the API server is the
// bottleneck. More writes would not be faster, and would delay other clients.
const defaultWriters = 16

// actBudget is the time for which one pass writes works before the next decision, so that a failure during many writes
// is noticed soon. A pass that took long to decide writes for longer, up to actBudgetMost, so that each object occupies
// a worker for a bounded time, however large the object is. An abort gets actBudgetMost from the start, because no new
// failure changes its writes. It continues up to actBudgetAlone if no other abort waits for a worker and the object
// does not change. Between two passes, nothing is written until the caches show the last writes, which takes a tenth of
// the time.
const (
	actBudget       = 500 * time.Millisecond
	actBudgetFactor = 20
	actBudgetMost   = 2 * time.Second
	actBudgetAlone  = 5 * time.Second
)

// parallel calls do for each index, in order, a bounded number at a time. A cancelled context leaves the rest undone.
func (c *Controller) parallel(ctx context.Context, n int, do func(int)) {
	if c.Writers > 1 {
		workqueue.ParallelizeUntil(ctx, min(n, c.Writers), n, do)
		return
	}
	for i := range n {
		if ctx.Err() != nil {
			return
		}
		do(i)
	}
}

// inTurn executes a request when one of the slots that all passes share is free. It returns memory.ErrLater if the pass
// then has no time left. A pass without time left does not wait for a slot.
func (c *Controller) inTurn(t queue.Turn, left func() bool, request func() error) error {
	if !left() {
		return memory.ErrLater
	}
	c.slots.Take(t)
	defer c.slots.Give(t)
	if !left() {
		return memory.ErrLater
	}
	return request()
}

// budget returns a function that reports whether a pass may still write. The time begins now.
func (c *Controller) budget(p *pass) (left func() bool) {
	began, budget := c.Clock.Now(), actBudgetMost
	if p.turn.Lane != queue.Aborts {
		budget = min(max(actBudget, actBudgetFactor*began.Sub(p.now)), actBudgetMost)
	}
	until, alone := began.Add(budget), began.Add(actBudgetAlone)
	return func() bool {
		now := c.Clock.Now()
		if p.turn.Lane != queue.Aborts || !now.After(until) {
			return !now.After(until)
		}
		return !now.After(alone) && !c.abortsWait() && c.isLatest(p)
	}
}

// isLatest reports whether the cache still shows the version of the object that the pass began with.
func (c *Controller) isLatest(p *pass) bool {
	cached, exists, err := c.stores.ReplicaSets.GetByKey(p.key)
	return err == nil && exists && cached.(*replicaset.Object).ResourceVersion == p.object.ResourceVersion
}
