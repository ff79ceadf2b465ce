package controller

import (
	"slices"
	"time"

	"k8s.io/klog/v2"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/controller/internal/memory"
	"github.com/open-cluster-management-io/work-rollback/pkg/controller/internal/queue"
	"github.com/open-cluster-management-io/work-rollback/pkg/replicaset"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

const (
	// largeTemplate is the minimum size of a large template, in bytes. The API server decodes, validates and compares
	// the whole template for each write of the ManifestWorkReplicaSet, its status, or its revision.
	largeTemplate = 64 << 10
	// configBytes is the minimum size of a manifestConfig with a rule, in bytes.
	configBytes = 256
)

// yields returns how long a pass waits for the aborts of other objects. It waits if it would begin the rollout of a new
// large template, because the resulting load on the API server would slow down the aborts (P8). A pass does not wait if
// a revision already holds the template, so an undo does not wait either.
func (c *Controller) yields(key string, object *replicaset.Object, known *memory.Owner) time.Duration {
	if c.laneOf(key) == queue.Aborts || !c.beginsLarge(key, object, known) {
		return 0
	}
	wait := known.Pace.Yield(object.Generation, c.slots.AbortingBeside(key), c.Clock.Now())
	if wait > 0 {
		klog.Background().V(3).Info("A new large template waits for the aborts of other objects", "manifestWorkReplicaSet", key)
	}
	return wait
}

// beginsLarge reports whether a pass over an object would create a revision of a large template.
func (c *Controller) beginsLarge(key string, object *replicaset.Object, known *memory.Owner) bool {
	template := &object.Spec.ManifestWorkTemplate
	if object.Generation == object.Status.ObservedGeneration || object.Spec.Paused || !object.DeletionTimestamp.IsZero() ||
		templateSize(template) < largeTemplate || c.HistoryNote() != "" {
		return false
	}
	digest, err := known.Template(object.ManifestWorkReplicaSet)
	if err != nil {
		return false // An invalid template gets no revision.
	}
	revisions, err := c.revisionsOf(key, object, known)
	return err == nil && !slices.ContainsFunc(revisions, func(rev revision.Revision) bool { return rev.Digest == digest })
}

// templateSize returns the approximate size of a template, in bytes.
func templateSize(template *workv1.ManifestWorkSpec) int {
	return configBytes*len(template.ManifestConfigs) + memory.ManifestBytes(template)
}
