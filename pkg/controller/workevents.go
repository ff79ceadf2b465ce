package controller

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/tools/cache"
	workv1 "open-cluster-management.io/api/work/v1"
)

// workEvents leads the events of ManifestWorks to their owners. An agent that reports what it had reported before, in other words or with other
// details, leads to no pass: where the cache holds what decides and nothing else, two objects can be compared as they are.
func workEvents(enqueue func(key string)) cache.ResourceEventHandler {
	enqueueOwners := func(objects ...any) {
		var keys []string
		for _, obj := range objects {
			keys = append(keys, ownerKeys(untombed(obj))...)
		}
		slices.Sort(keys)
		for _, key := range slices.Compact(keys) {
			enqueue(key)
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) { enqueueOwners(obj) },
		UpdateFunc: func(before, after any) {
			if !saysTheSame(before, after) {
				enqueueOwners(before, after)
			}
		},
		DeleteFunc: func(obj any) { enqueueOwners(obj) },
	}
}

// saysTheSame says whether two versions of a slim work differ in their version only. A resync hands out the same version: that one
// leads to a pass, should anything ever have been missed.
func saysTheSame(before, after any) bool {
	a, ok := before.(*workv1.ManifestWork)
	if !ok || !isSlim(a) {
		return false
	}
	b, ok := after.(*workv1.ManifestWork)
	if !ok || !isSlim(b) || a.ResourceVersion == b.ResourceVersion {
		return false
	}
	meta := b.ObjectMeta
	meta.ResourceVersion = a.ResourceVersion
	return equality.Semantic.DeepEqual(a.ObjectMeta, meta) && equality.Semantic.DeepEqual(a.Spec, b.Spec) && equality.Semantic.DeepEqual(a.Status, b.Status)
}
