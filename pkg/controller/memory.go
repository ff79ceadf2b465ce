package controller

import "k8s.io/apimachinery/pkg/types"

// memory is what this process has seen from one pass to the next and can't be read from the caches, by what it is about. All of
// it may be lost: a restart waits a little longer, asks again what it was refused, and tells a few things again (R8, R10).
//
// Each part has a lock of its own. No part calls another, so that no lock is ever waited for by who holds one of another part,
// and nothing is decided on two parts at once. Workers and their writers use all of them concurrently.
//
// Entries go away with what they are about, when the cache shows that it is gone: Controller.Forget sees to that.
type memory struct {
	works  *workMemory
	owners ownerMemory
	told   toldMemory
}

func newMemory() *memory { return &memory{works: newWorkMemory()} }

// forgetWork drops what is known of a ManifestWork that is gone.
func (m *memory) forgetWork(uid types.UID) { m.works.forget(uid) }

// forgetOwner drops what is known of a ManifestWorkReplicaSet that is gone, by "namespace/name", and what was told of it. Its works
// go away one by one.
func (m *memory) forgetOwner(owner string) {
	m.owners.forget(owner)
	m.told.forget(owner)
}
