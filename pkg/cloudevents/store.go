package cloudevents

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// firstVersion is the first resourceVersion. It is greater than any generation, because sdk-go compares the two. So when an agent asks for
// its works, sdk-go sends all that the hub has for it.
const firstVersion = int64(1) << 32

// epoch is the start of generations. A generation is the number of seconds since then: an event holds 32 bits of it, and generations must
// grow even if a restart has forgotten them. An agent ignores a work with a lower generation than its own.
var epoch = time.Date(2024, time.January, 1, 0, 0, 0, 0, time.UTC)

// store keeps the works. The works that it returns are never changed. At rest, a work takes the memory of its metadata and its trimmed
// status: works of one revision share its content.
type store struct {
	clock    clock.PassiveClock
	contents *contents

	mu      sync.Mutex
	version int64
	// lastDeletion is the version at which a work was last deleted.
	lastDeletion int64
	works        map[types.UID]*held
	// clusters holds the works of each cluster.
	clusters map[string][]*held
	// generations maps each work that ever existed to its last generation: a generation that an agent may have seen is never used for other
	// content.
	generations map[types.UID]int64
	watchers    map[*watcher]bool
}

// held is the store's record of a work.
type held struct {
	work *workv1.ManifestWork
	// content shares its memory with the spec of the work.
	content *content
	// sequence is the sequence ID of the last report.
	sequence string
	// reported is the generation of the last report.
	reported int64
	// renewals is the pace at which the work is sent again because its agent reports a newer generation.
	renewals renewals
	// wordAt is the time of the agent's last report of the work; zero if there was none.
	wordAt time.Time
}

func newStore(clk clock.PassiveClock) *store {
	return &store{
		clock: clk, contents: newContents(), version: firstVersion,
		works: map[types.UID]*held{}, clusters: map[string][]*held{},
		generations: map[types.UID]int64{}, watchers: map[*watcher]bool{},
	}
}

// get returns a work, or nil if there is none. The work belongs to the store, and must not be changed.
func (s *store) get(uid types.UID) *workv1.ManifestWork {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.find(uid)
}

// find is get for a caller that holds mu.
func (s *store) find(uid types.UID) *workv1.ManifestWork {
	if found := s.works[uid]; found != nil {
		return found.work
	}
	return nil
}

// list returns the works of a cluster, or of all clusters, by label.
func (s *store) list(namespace string, selector labels.Selector) *workv1.ManifestWorkList {
	found, version := s.in(namespace)
	list := &workv1.ManifestWorkList{ListMeta: metav1.ListMeta{ResourceVersion: strconv.FormatInt(version, 10)}}
	for _, work := range slices.SortedFunc(slices.Values(found), byUID) {
		if selector.Matches(labels.Set(work.Labels)) {
			list.Items = append(list.Items, *copyOf(work))
		}
	}
	return list
}

func byUID(a, b *workv1.ManifestWork) int { return strings.Compare(string(a.UID), string(b.UID)) }

// in returns the works of a cluster, or of all clusters, in no order, and the version of the store. It copies them without the lock.
func (s *store) in(namespace string) (works []*workv1.ManifestWork, version int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if namespace != metav1.NamespaceAll {
		for _, h := range s.clusters[namespace] {
			works = append(works, h.work)
		}
		return works, s.version
	}
	works = make([]*workv1.ManifestWork, 0, len(s.works))
	for _, h := range s.works {
		works = append(works, h.work)
	}
	return works, s.version
}

// ofCluster returns the works of a cluster, in the order of their names.
func (s *store) ofCluster(cluster string) []*workv1.ManifestWork {
	works, _ := s.in(cluster)
	slices.SortFunc(works, func(a, b *workv1.ManifestWork) int { return strings.Compare(a.Name, b.Name) })
	return works
}

// all returns the works of all clusters, in the order of their UIDs.
func (s *store) all() []*workv1.ManifestWork {
	works, _ := s.in(metav1.NamespaceAll)
	slices.SortFunc(works, byUID)
	return works
}

// count returns the number of works of a cluster that match.
func (s *store) count(cluster string, is func(*workv1.ManifestWork) bool) (n int) {
	works, _ := s.in(cluster)
	for _, work := range works {
		if is(work) {
			n++
		}
	}
	return n
}

// owners counts the works by the value of their owner label.
func (s *store) owners() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := map[string]int{}
	for _, h := range s.works {
		counts[h.work.Labels[workv1alpha1.LabelReplicaSet]]++
	}
	return counts
}

// clusterOf returns the cluster of a work; empty if there is no such work.
func (s *store) clusterOf(uid types.UID) string {
	if work := s.get(uid); work != nil {
		return work.Namespace
	}
	return ""
}

// watch reports every change since a version. Deletions before that are forgotten; then the caller has to list again.
func (s *store) watch(since string) (*watcher, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from, err := strconv.ParseInt(since, 10, 64)
	if err != nil || from < s.lastDeletion {
		return nil, apierrors.NewResourceExpired("works were deleted since resourceVersion " + since)
	}
	w := newWatcher(s.unwatch)
	s.watchers[w] = true
	for _, h := range s.works {
		if version, _ := strconv.ParseInt(h.work.ResourceVersion, 10, 64); version > from {
			w.send(watch.Event{Type: watch.Modified, Object: copyOf(h.work)})
		}
	}
	return w, nil
}

func (s *store) unwatch(w *watcher) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.watchers, w)
}

// nextGeneration returns a generation greater than any that the work has had, including those of earlier processes.
func (s *store) nextGeneration(uid types.UID, atLeast int64) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := max(s.generations[uid]+1, atLeast, int64(s.clock.Since(epoch)/time.Second))
	if work := s.find(uid); work != nil {
		next = max(next, work.Generation+1)
	}
	next = min(next, math.MaxInt32) // Reports that would lead there are refused.
	s.generations[uid] = next
	return next
}

// put stores a write of this hub, and gives it its version. The status belongs to the agent: a report that arrived in between stays.
func (s *store) put(work *workv1.ManifestWork) *workv1.ManifestWork {
	content := s.contents.of(&work.Spec)
	shareMeta(&work.ObjectMeta)
	s.mu.Lock()
	defer s.mu.Unlock()
	if before := s.find(work.UID); before != nil {
		work.Status, work.Finalizers = before.Status, before.Finalizers
	}
	return s.store(work, content)
}

// store gives a work its version and notifies the watchers. The caller holds mu, and gives the work away. Its spec is the content.
func (s *store) store(work *workv1.ManifestWork, content *content) *workv1.ManifestWork {
	h, what := s.works[work.UID], watch.Modified
	if h == nil {
		h, what = &held{}, watch.Added
		s.works[work.UID] = h
		s.clusters[work.Namespace] = append(s.clusters[work.Namespace], h)
	}
	s.version++
	work.ResourceVersion = strconv.FormatInt(s.version, 10)
	work.Spec = content.spec
	h.work, h.content = work, content
	s.generations[work.UID] = max(s.generations[work.UID], work.Generation)
	s.notify(what, work)
	return work
}

// restore stores a reported work that the store does not have.
func (s *store) restore(work *workv1.ManifestWork, sequence string) {
	trim(&work.Status, mostManifests(work))
	shareMeta(&work.ObjectMeta)
	content := s.contents.of(&work.Spec)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.store(work, content)
	h := s.works[work.UID]
	h.sequence, h.reported, h.wordAt = sequence, work.Generation, s.clock.Now()
}

// remove forgets a work that is deleted from its cluster, or that never existed.
func (s *store) remove(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.works[uid]; h != nil {
		s.forget(h)
	}
}

func (s *store) forget(h *held) {
	cluster := h.work.Namespace
	delete(s.works, h.work.UID)
	s.clusters[cluster] = slices.DeleteFunc(s.clusters[cluster], func(other *held) bool { return other == h })
	if len(s.clusters[cluster]) == 0 {
		delete(s.clusters, cluster)
	}
	last := copyOf(h.work)
	s.version++
	s.lastDeletion = s.version
	last.ResourceVersion = strconv.FormatInt(s.version, 10)
	s.notify(watch.Deleted, last)
}

func (s *store) notify(what watch.EventType, work *workv1.ManifestWork) {
	for w := range s.watchers {
		w.send(watch.Event{Type: what, Object: copyOf(work)})
	}
}
