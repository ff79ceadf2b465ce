package memory

import "k8s.io/apimachinery/pkg/types"

// Memory is what this process has seen from one pass to the next and can't be read from the caches, by what it is about.
//
// Each part has a lock of its own. No part calls another: nobody who holds the lock of one part waits for that of another, and nothing is
// decided on two parts at once. Workers and their writers use all of them concurrently.
//
// Entries go away with what they are about, when the cache shows that it is gone: Controller.Forget sees to that.
type Memory struct {
	Works  *Works
	Owners Owners
	Told   Told
}

// New returns a memory that knows nothing.
func New() *Memory { return &Memory{Works: NewWorks()} }

// ForgetWork drops what is known of a ManifestWork that is gone.
func (m *Memory) ForgetWork(uid types.UID) { m.Works.Forget(uid) }

// ForgetOwner drops what is known of a ManifestWorkReplicaSet that is gone, by "namespace/name", and what was told of it. Its works
// go away one by one.
func (m *Memory) ForgetOwner(owner string) {
	m.Owners.Forget(owner)
	m.Told.Forget(owner)
}
