package controller

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	workv1 "open-cluster-management.io/api/work/v1"
)

// Forget drops what is known of an object that a cache saw disappear. Each informer calls it from a goroutine of its own, while passes
// are under way. What has a bounded size (specs, digests) needs no call, and metrics are dropped by Sync when it finds no object.
func (c *Controller) Forget(obj any) {
	object, err := meta.Accessor(untombed(obj))
	if err != nil {
		return
	}
	switch object.(type) {
	case *replicaSet:
		owner := cache.MetaObjectToName(object).String()
		c.contents.forget(object.GetUID())
		c.memory.forgetOwner(owner)
		c.pace.forget(owner)
		c.consistency.gone(owner, c.replicaSets, object)
	case *appsv1.ControllerRevision:
		c.contents.forget(object.GetUID())
		c.gone(c.revisionIndex, object)
	case *workv1.ManifestWork:
		c.memory.forgetWork(object.GetUID())
		c.gone(c.workIndex, object)
	}
}

// ForgetReplaced drops what is known of an object that another one of the same name took the place of while its informer did not
// watch: client-go tells of that as of an update.
func (c *Controller) ForgetReplaced(before, after any) {
	old, err := meta.Accessor(before)
	if err != nil {
		return
	}
	if now, err := meta.Accessor(after); err == nil && now.GetUID() != old.GetUID() {
		c.Forget(before)
	}
}

func (c *Controller) gone(store cache.Store, object metav1.Object) {
	for _, owner := range ownerKeys(object) {
		c.consistency.gone(owner, store, object)
	}
}

// untombed unwraps what an informer tells of an object whose deletion it missed.
func untombed(obj any) any {
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		return tombstone.Obj
	}
	return obj
}
