package memory

import (
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/tools/cache"
)

// CatchUpPatience is the time for which a cache may lag behind a write before the API server is asked whether the object still exists.
const CatchUpPatience = 10 * time.Second

// Expectations remembers this process's own writes for an object until the caches show them. A pass that does not see its own writes would
// repeat them, or decide on an outdated state.
type Expectations struct {
	mu      sync.Mutex
	pending map[writeKey]*Write
}

type writeKey struct {
	store cache.Store
	key   string
}

// Write is a write that a cache is expected to show.
type Write struct {
	// Store is the cache. Key is the "namespace/name" of the object in the cache, and UID is the object's UID.
	Store cache.Store
	Key   string
	UID   types.UID

	resourceVersion string
	// created is true if, at the time of the write, the cache did not have the object, or had another object of that
	// name. deleted is true if the write deletes it.
	created, deleted bool
	at               time.Time
	// asked is the time at which the object was last read from the API server; zero for never.
	asked time.Time
}

// Wrote records a write of an object, with the API server's response.
func (e *Expectations) Wrote(store cache.Store, answer metav1.Object, now time.Time) {
	e.note(answer, &Write{Store: store, resourceVersion: answer.GetResourceVersion(), at: now})
}

// Deleted records that an object was deleted, or is being deleted.
func (e *Expectations) Deleted(store cache.Store, object metav1.Object, now time.Time) {
	e.note(object, &Write{Store: store, deleted: true, at: now})
}

func (e *Expectations) note(object metav1.Object, w *Write) {
	w.Key, w.UID = cache.MetaObjectToName(object).String(), object.GetUID()
	w.created = !w.isCached()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.pending == nil {
		e.pending = map[writeKey]*Write{}
	}
	if before := e.pending[w.id()]; before != nil && before.isNewer(w) {
		return // The responses to two writes of the object arrived out of order.
	}
	e.pending[w.id()] = w
}

// isNewer reports whether a write of an object comes after another write of it.
func (w *Write) isNewer(than *Write) bool {
	return w.UID == than.UID && !w.deleted && !than.deleted && notOlder(w.resourceVersion, than.resourceVersion)
}

// isCached reports whether the cache has this object, and not another object of that name.
func (w *Write) isCached() bool {
	cached, exists, err := w.Store.GetByKey(w.Key)
	if err != nil || !exists {
		return err != nil
	}
	object, err := meta.Accessor(cached)
	return err != nil || object.GetUID() == w.UID
}

// Behind returns how many writes the caches don't show yet.
func (e *Expectations) Behind() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	maps.DeleteFunc(e.pending, func(_ writeKey, w *Write) bool { return w.Shown() })
	return len(e.pending)
}

// Late returns at most atMost writes that the cache has not shown within CatchUpPatience, and whose objects were not
// read from the API server in that time. It marks them as read.
func (e *Expectations) Late(now time.Time, atMost int) []*Write {
	e.mu.Lock()
	defer e.mu.Unlock()
	var late []*Write
	for _, w := range e.pending {
		if len(late) == atMost {
			break
		}
		setBack(now, &w.at, &w.asked)
		if now.Sub(w.at) > CatchUpPatience && now.Sub(w.asked) > CatchUpPatience {
			w.asked = now
			late = append(late, w)
		}
	}
	return late
}

// Forget drops a write.
func (e *Expectations) Forget(w *Write) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.pending, w.id())
}

func (w *Write) id() writeKey { return writeKey{store: w.Store, key: w.Key} }

// Shown reports whether the cache has caught up with the write. If the cache had the object and no longer has it, the
// object was deleted after the write.
func (w *Write) Shown() bool {
	cached, exists, err := w.Store.GetByKey(w.Key)
	if err != nil {
		return false
	}
	if !exists {
		return w.deleted || !w.created
	}
	object, err := meta.Accessor(cached)
	if err != nil {
		return false
	}
	if w.deleted {
		return object.GetUID() != w.UID || object.GetDeletionTimestamp() != nil
	}
	return notOlder(object.GetResourceVersion(), w.resourceVersion)
}

// notOlder reports whether a version of an object is equal to or newer than another version. A driver whose versions
// can't be compared updates its own store as it writes.
func notOlder(version, other string) bool {
	order, err := resourceversion.CompareResourceVersion(version, other)
	return err != nil || order >= 0
}
