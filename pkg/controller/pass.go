package controller

import (
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/utils/ptr"
	workv1 "open-cluster-management.io/api/work/v1"
	"open-cluster-management.io/sdk-go/pkg/patcher"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/controller/internal/queue"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision/plan"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
)

// pass is one look at a ManifestWorkReplicaSet, handed from step to step.
type pass struct {
	// key is "namespace/name", and turn the place of this pass's writes among those of others.
	key  string
	turn queue.Turn
	now  time.Time
	// object is shared with the cache: never changed.
	object *replicaSet
	// owner is the value of the owner label.
	owner string

	// facts is what was decided on about the revisions.
	facts plan.View
	// history and works are what the caches hold of this owner's.
	history revision.History
	works   []*workv1.ManifestWork
	// refs are the placementRefs that count, and ignoredRefs is how many more the spec has.
	refs        []rollout.Ref
	ignoredRefs int
	// revisions are the deciding fields of the status, rebuilt where it was lost (R16).
	revisions status.Revisions
	// update is the revision that the rollout is one of. It is the template's, but for an abort that is finished first (R4).
	update *rollout.Revision

	// abortReason is why the rollout was aborted, where this process knows it; the revision tells it otherwise.
	abortReason string
	// held says that the template has no revision, and that update is the one before it: nothing of that is started any more.
	held bool

	// pending says that today's template waits, for an abort to be carried out (R4) or for its revision to be written, and that the hub
	// goes on by itself: the status does not observe this generation yet.
	pending bool

	snapshot *rollout.Snapshot
	plan     *rollout.Plan
	// standing is what the status goes on to tell; nil for the plan.
	standing *rollout.Plan
	// aborting says that a work that can be written was not written back in this pass.
	aborting bool
	// answer is what the API server made of this pass's last write of the object.
	answer *replicaSet
	// noHistory says why there are no revisions to be had; empty when there are.
	noHistory string
	// problems are for the conditions, each naming its object and the remedy.
	problems []string
	// failing are the requests of this pass that failed, other than writes of works, and that the conditions name.
	failing []string

	// wrote says that this pass changed something; urgent that it wants to, as soon as it may.
	wrote   atomic.Bool
	urgent  bool
	recheck time.Duration
	errs    []error
}

func (c *Controller) newPass(object *replicaSet, key string) *pass {
	p := &pass{
		key:       key,
		turn:      queue.Turn{Lane: c.laneOf(key), Key: key},
		now:       c.clock.Now(),
		object:    object,
		owner:     workv1alpha1.OwnerLabelValue(object.Namespace, object.Name),
		revisions: status.RevisionsOf(&object.Status),
	}
	p.abortReason = c.memory.Owners.AbortReason(key, p.revisions.AbortedTime)
	if count := c.memory.Owners.Collisions(key); count > ptr.Deref(p.revisions.CollisionCount, 0) {
		p.revisions.CollisionCount = &count
	}
	if object.Spec.RevisionHistoryLimit != nil {
		c.memory.Owners.Defaulted(key)
	}
	return p
}

// lookAgain asks for another pass after some time, at the latest.
func (p *pass) lookAgain(after time.Duration) {
	if after > 0 && (p.recheck == 0 || after < p.recheck) {
		p.recheck = after
	}
}

func (p *pass) err() error { return utilerrors.NewAggregate(p.errs) }

// transitionTime is the pass's time as conditions bear it.
func (p *pass) transitionTime() metav1.Time { return metav1.NewTime(p.now) }

// problem notes what a condition shall name, once.
func (p *pass) problem(text string) {
	for _, known := range p.problems {
		if known == text {
			return
		}
	}
	p.problems = append(p.problems, text)
}

type replicaSetPatcher = patcher.Patcher[*workv1alpha1.ManifestWorkReplicaSet, workv1alpha1.ManifestWorkReplicaSetSpec, workv1alpha1.ManifestWorkReplicaSetStatus]

// patcher writes this pass's object. Its patches carry the resourceVersion that the pass decided on (R15).
func (c *Controller) patcher(p *pass) replicaSetPatcher {
	return patcher.NewPatcher[*workv1alpha1.ManifestWorkReplicaSet, workv1alpha1.ManifestWorkReplicaSetSpec, workv1alpha1.ManifestWorkReplicaSetStatus](
		&replicaSetClient{
			ResourceInterface: c.dynamic.Resource(workv1alpha1.ManifestWorkReplicaSetResource).Namespace(p.object.Namespace),
			wrote: func(answer *unstructured.Unstructured) {
				p.answer = decodeReplicaSet(answer)
				c.wrote(p, c.replicaSets, answer)
			},
		})
}
