package controller

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/controller/internal/memory"
	"github.com/open-cluster-management-io/work-rollback/pkg/metrics"
)

// Sync makes one pass over the ManifestWorkReplicaSet with this "namespace/name". It asks for another one after some
// time, unless that is zero.
func (c *Controller) Sync(ctx context.Context, key string) (again time.Duration, err error) {
	cached, exists, err := c.replicaSets.GetByKey(key)
	if err != nil || !exists {
		c.metrics.Forget(key)
		return 0, err
	}
	if wait := c.pace.Wait(key, c.clock.Now()); wait > 0 {
		return wait, nil
	}
	if !c.caughtUp(ctx, key) {
		c.metrics.Reconciled(metrics.Behind)
		return catchUpInterval, nil
	}
	again, err = c.pass(ctx, key, cached.(*replicaSet))
	if err != nil {
		c.metrics.Reconciled(metrics.Erred)
	} else {
		c.metrics.Reconciled(metrics.Passed)
	}
	return again, err
}

// pass makes one, whose steps are those of the chain.
func (c *Controller) pass(ctx context.Context, key string, object *replicaSet) (again time.Duration, err error) {
	ctx = klog.NewContext(ctx, klog.FromContext(ctx).WithValues("manifestWorkReplicaSet", key))
	p := c.newPass(object, key)
	defer func() { c.pace.Passed(key, p.now, c.clock.Now(), p.wrote.Load() || p.urgent) }()
	for _, step := range c.chain {
		goOn, err := step.reconcile(ctx, p)
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
	c.memory.Owners.StillFail(key, p.failing)
	c.aborting.Note(key, p.leavesAbort())
	return p.recheck, p.err()
}

// caughtUp says whether every cache shows this process's own last writes (R15). A write whose object was deleted
// before a cache saw it would never show: when it takes long, the API server is asked. A cache that lags behind lags for all of them, and who
// would ask for all at once would take the API server's time from the writes of an abort: each is asked for now and then, a few at a time.
func (c *Controller) caughtUp(ctx context.Context, owner string) bool {
	if c.expectations.Behind(owner) == 0 {
		return true
	}
	for _, w := range c.expectations.Late(owner, c.clock.Now(), catchUpQuestions) {
		if !w.Shown() && c.isGone(ctx, w) {
			c.expectations.Forget(owner, w)
		}
	}
	return c.expectations.Behind(owner) == 0
}

func (c *Controller) isGone(ctx context.Context, w memory.Write) bool {
	name, err := cache.ParseObjectName(w.Key)
	if err != nil {
		return true
	}
	var live metav1.Object
	switch w.Store {
	case c.workIndex:
		live, err = c.works.WorkV1().ManifestWorks(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
	case c.revisionIndex:
		live, err = c.kube.AppsV1().ControllerRevisions(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
	default:
		live, err = c.dynamic.Resource(workv1alpha1.ManifestWorkReplicaSetResource).Namespace(name.Namespace).
			Get(ctx, name.Name, metav1.GetOptions{})
	}
	return apierrors.IsNotFound(err) || (err == nil && live.GetUID() != w.UID)
}

// wrote notes that this pass wrote an object, as the API server answered it (R15).
func (c *Controller) wrote(p *pass, store cache.Store, answer metav1.Object) {
	p.wrote.Store(true)
	c.expectations.Wrote(p.key, store, answer, c.clock.Now())
}

// deleted notes that this pass deleted an object (R15).
func (c *Controller) deleted(p *pass, store cache.Store, object metav1.Object) {
	p.wrote.Store(true)
	c.expectations.Deleted(p.key, store, object, c.clock.Now())
}

func (c *Controller) wroteWork(p *pass, work metav1.Object) { c.wrote(p, c.workIndex, work) }

func (c *Controller) wroteRevision(p *pass, revision *appsv1.ControllerRevision) {
	c.wrote(p, c.revisionIndex, revision)
}
