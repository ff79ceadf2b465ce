package memory

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/tools/cache"
)

// CatchUpPatience is how long a cache may lag behind a write before the API server is asked whether the object still exists.
const CatchUpPatience = 10 * time.Second

// Expectations remembers this process's own writes until the caches show them. A pass that does not see its own writes would repeat them,
// or decide on an outdated state.
type Expectations struct {
	mu sync.Mutex
	// pending holds the writes for each owner by "namespace/name".
	pending map[string]map[writeKey]Write
}

type writeKey struct {
	store cache.Store
	key   string
}

// Write is one that a cache is expected to show.
type Write struct {
	// Store is the cache, Key the "namespace/name" of the object in it, and UID the object's.
	Store cache.Store
	Key   string
	UID   types.UID

	resourceVersion string
	deleted         bool
	at              time.Time
	// asked is when the API server was last asked for the object; zero for never.
	asked time.Time
}

// NewExpectations returns empty Expectations.
func NewExpectations() *Expectations {
	return &Expectations{pending: map[string]map[writeKey]Write{}}
}

// Wrote notes that an owner's object was written, with the API server's answer.
func (e *Expectations) Wrote(owner string, store cache.Store, answer metav1.Object, now time.Time) {
	e.note(owner, answer, Write{Store: store, resourceVersion: answer.GetResourceVersion(), at: now})
}

// Deleted notes that an owner's object was deleted, or is being deleted.
func (e *Expectations) Deleted(owner string, store cache.Store, object metav1.Object, now time.Time) {
	e.note(owner, object, Write{Store: store, deleted: true, at: now})
}

func (e *Expectations) note(owner string, object metav1.Object, w Write) {
	e.mu.Lock()
	defer e.mu.Unlock()
	w.Key, w.UID = cache.MetaObjectToName(object).String(), object.GetUID()
	if e.pending[owner] == nil {
		e.pending[owner] = map[writeKey]Write{}
	}
	e.pending[owner][w.id()] = w
}

// Gone forgets the writes of an object that was deleted from a cache: the cache will never show them.
func (e *Expectations) Gone(owner string, store cache.Store, object metav1.Object) {
	e.mu.Lock()
	defer e.mu.Unlock()
	key := writeKey{store: store, key: cache.MetaObjectToName(object).String()}
	if w, ok := e.pending[owner][key]; ok && w.UID == object.GetUID() {
		delete(e.pending[owner], key)
	}
}

// Behind returns how many writes an owner's caches don't show yet.
func (e *Expectations) Behind(owner string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	for key, w := range e.pending[owner] {
		if w.Shown() {
			delete(e.pending[owner], key)
		}
	}
	behind := len(e.pending[owner])
	if behind == 0 {
		delete(e.pending, owner)
	}
	return behind
}

// Late returns some writes of an owner that the cache has not shown within CatchUpPatience, and for which the API server was not asked in
// that time. It marks them as asked for.
func (e *Expectations) Late(owner string, now time.Time, atMost int) []Write {
	e.mu.Lock()
	defer e.mu.Unlock()
	var late []Write
	for key, w := range e.pending[owner] {
		if len(late) == atMost {
			break
		}
		setBack(now, &w.at, &w.asked)
		e.pending[owner][key] = w
		if now.Sub(w.at) > CatchUpPatience && now.Sub(w.asked) > CatchUpPatience {
			w.asked = now
			e.pending[owner][key] = w
			late = append(late, w)
		}
	}
	return late
}

// Forget drops one write of an owner.
func (e *Expectations) Forget(owner string, w Write) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.pending[owner], w.id())
}

func (w Write) id() writeKey { return writeKey{store: w.Store, key: w.Key} }

// Shown reports whether the cache has caught up with the write.
func (w Write) Shown() bool {
	cached, exists, err := w.Store.GetByKey(w.Key)
	if err != nil {
		return false
	}
	if !exists {
		return w.deleted
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

// notOlder reports whether a version of an object is equal to another version, or came after it. A driver whose versions can't be compared
// updates its own store as it writes.
func notOlder(version, other string) bool {
	order, err := resourceversion.CompareResourceVersion(version, other)
	return err != nil || order >= 0
}
