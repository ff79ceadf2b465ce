package controller

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/tools/cache"
)

// consistency remembers this process's own writes until the caches show them: a pass that does not see what it did
// itself would do it again, or decide on a past (R15).
type consistency struct {
	mu sync.Mutex
	// pending holds the writes for each owner by "namespace/name".
	pending map[string]map[writeKey]write
}

type writeKey struct {
	store cache.Store
	key   string
}

type write struct {
	uid             types.UID
	resourceVersion string
	deleted         bool
	at              time.Time
	// asked is when the API server was asked for the object last; zero for never.
	asked time.Time
}

func newConsistency() *consistency {
	return &consistency{pending: map[string]map[writeKey]write{}}
}

// wrote notes that an owner's object was written, as the API server answered it.
func (c *consistency) wrote(owner string, store cache.Store, answer metav1.Object, now time.Time) {
	c.note(owner, store, answer, write{uid: answer.GetUID(), resourceVersion: answer.GetResourceVersion(), at: now})
}

// deleted notes that an owner's object was deleted, or is being deleted.
func (c *consistency) deleted(owner string, store cache.Store, object metav1.Object, now time.Time) {
	c.note(owner, store, object, write{uid: object.GetUID(), deleted: true, at: now})
}

func (c *consistency) note(owner string, store cache.Store, object metav1.Object, w write) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pending[owner] == nil {
		c.pending[owner] = map[writeKey]write{}
	}
	c.pending[owner][writeKey{store: store, key: cache.MetaObjectToName(object).String()}] = w
}

// gone forgets the writes of an object that a cache saw disappear: it will never show them.
func (c *consistency) gone(owner string, store cache.Store, object metav1.Object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := writeKey{store: store, key: cache.MetaObjectToName(object).String()}
	if w, ok := c.pending[owner][key]; ok && w.uid == object.GetUID() {
		delete(c.pending[owner], key)
	}
}

// behind lists what an owner's caches don't show yet.
func (c *consistency) behind(owner string) map[writeKey]write {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, w := range c.pending[owner] {
		if shows(key, w) {
			delete(c.pending[owner], key)
		}
	}
	if len(c.pending[owner]) == 0 {
		delete(c.pending, owner)
		return nil
	}
	behind := make(map[writeKey]write, len(c.pending[owner]))
	for key, w := range c.pending[owner] {
		behind[key] = w
	}
	return behind
}

// late picks some writes of an owner that its cache has not shown for longer than a cache takes, and for which the API server was not asked in
// that time. They count as asked for from now on.
func (c *consistency) late(owner string, now time.Time, atMost int) map[writeKey]write {
	c.mu.Lock()
	defer c.mu.Unlock()
	late := map[writeKey]write{}
	for key, w := range c.pending[owner] {
		if len(late) == atMost {
			break
		}
		if now.Sub(w.at) > catchUpPatience && now.Sub(w.asked) > catchUpPatience {
			w.asked = now
			c.pending[owner][key], late[key] = w, w
		}
	}
	return late
}

// forget drops one write of an owner.
func (c *consistency) forget(owner string, key writeKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pending[owner], key)
}

// shows says whether a cache has caught up with a write.
func shows(key writeKey, w write) bool {
	cached, exists, err := key.store.GetByKey(key.key)
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
		return object.GetUID() != w.uid || object.GetDeletionTimestamp() != nil
	}
	return notOlder(object.GetResourceVersion(), w.resourceVersion)
}

// notOlder reports whether a version of an object is another one, or came after it. A driver whose versions can't be compared keeps its own store
// up to date as it writes.
func notOlder(version, other string) bool {
	order, err := resourceversion.CompareResourceVersion(version, other)
	return err != nil || order >= 0
}
