package workcache

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/tools/cache"
	workv1 "open-cluster-management.io/api/work/v1"
)

// OwnerEvents queues the owners of ManifestWorks on events. A repeated report with a different wording or other details
// does not cause a pass: a trimmed work holds only the data that affects decisions, so two trimmed works can be
// compared directly. For owners for which readsLive returns true, every report causes a pass, because their passes
// decide on the whole works.
func OwnerEvents(enqueue func(key string), readsLive func(key string) bool) cache.ResourceEventHandler {
	keysOf := func(objects ...any) []string {
		var keys []string
		for _, obj := range objects {
			keys = append(keys, OwnerKeys(UnwrapTombstone(obj))...)
		}
		slices.Sort(keys)
		return slices.Compact(keys)
	}
	enqueueOwners := func(objects ...any) {
		for _, key := range keysOf(objects...) {
			enqueue(key)
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) { enqueueOwners(obj) },
		UpdateFunc: func(before, after any) {
			same := equivalent(before, after)
			for _, key := range keysOf(before, after) {
				if !same || readsLive(key) {
					enqueue(key)
				}
			}
		},
		DeleteFunc: func(obj any) { enqueueOwners(obj) },
	}
}

// UnwrapTombstone returns the object of an event whose deletion the informer missed, and any other object unchanged.
func UnwrapTombstone(obj any) any {
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		return tombstone.Obj
	}
	return obj
}

// Shows reports whether a cached work holds everything that the decisions about the live work depend on. It trims the live work.
func (d *Digests) Shows(cached, live *workv1.ManifestWork) bool {
	if live.ResourceVersion == cached.ResourceVersion {
		return true
	}
	if !IsTrimmed(cached) {
		return false
	}
	Trim(live, d.DigestOf(&live.Spec))
	return equivalent(cached, live)
}

// equivalent reports whether two versions of a trimmed work differ only in their resource version. A resync delivers the same version
// again. This leads to a pass, in case an event was missed.
func equivalent(before, after any) bool {
	a, ok := before.(*workv1.ManifestWork)
	if !ok || !IsTrimmed(a) {
		return false
	}
	b, ok := after.(*workv1.ManifestWork)
	if !ok || !IsTrimmed(b) || a.ResourceVersion == b.ResourceVersion {
		return false
	}
	meta := b.ObjectMeta
	meta.ResourceVersion = a.ResourceVersion
	return equality.Semantic.DeepEqual(a.ObjectMeta, meta) &&
		equality.Semantic.DeepEqual(a.Spec, b.Spec) && equality.Semantic.DeepEqual(a.Status, b.Status)
}
