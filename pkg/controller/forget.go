package controller

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/workcache"
)

// Forget drops what is known of an object that a cache saw disappear. Each informer calls it from a goroutine of its own, while passes
// are under way. What has a bounded size (specs, digests) needs no call, and metrics are dropped by Sync when it finds no object.
func (c *Controller) Forget(obj any) {
	object, err := meta.Accessor(workcache.UnwrapTombstone(obj))
	if err != nil {
		return
	}
	switch object.(type) {
	case *replicaSet:
		owner := cache.MetaObjectToName(object).String()
		c.contents.Forget(object.GetUID())
		c.memory.ForgetOwner(owner)
		c.pace.Forget(owner)
		c.aborting.Note(owner, false)
		c.expectations.Gone(owner, c.replicaSets, object)
	case *appsv1.ControllerRevision:
		c.contents.Forget(object.GetUID())
		c.gone(c.revisionIndex, object)
	case *workv1.ManifestWork:
		c.memory.ForgetWork(object.GetUID())
		c.gone(c.workIndex, object)
	}
}

// forgetting is the handler by which an informer tells of what is gone. Where another object of the same name took its place while the informer
// did not watch, client-go tells of an update.
func (c *Controller) forgetting() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(before, after any) {
			if uidOf(before) != uidOf(after) {
				c.Forget(before)
			}
		},
		DeleteFunc: c.Forget,
	}
}

func uidOf(obj any) types.UID {
	object, err := meta.Accessor(obj)
	if err != nil {
		return ""
	}
	return object.GetUID()
}

func (c *Controller) gone(store cache.Store, object metav1.Object) {
	for _, owner := range workcache.OwnerKeys(object) {
		c.expectations.Gone(owner, store, object)
	}
}
