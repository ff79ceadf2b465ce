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

// firstVersion is where resourceVersions begin: beyond any generation, so that sdk-go, which compares the two, sends an agent that
// asks all that the hub has for it.
const firstVersion = int64(1) << 32

// epoch is where generations begin: they are seconds since then, because an event holds 32 bits of them, and because they must go on
// growing when a restart has forgotten them. An agent ignores a work whose generation is less than the one that it has.
var epoch = time.Date(2024, time.January, 1, 0, 0, 0, 0, time.UTC)

// store keeps the works. What it hands out is never changed. At rest a work costs what its metadata and its trimmed status cost: works of
// one revision share the content of that revision.
type store struct {
	clock    clock.PassiveClock
	contents *contents

	mu      sync.Mutex
	version int64
	// lastDeletion is the version at which a work was deleted last.
	lastDeletion int64
	works        map[types.UID]*held
	// clusters holds the works of each cluster.
	clusters map[string][]*held
	// generations holds the last generation that was tried of each work that ever was: a number that an agent may have seen is never
	// used again for another content.
	generations map[types.UID]int64
	watchers    map[*watcher]bool
}

// held is what the store has of one work.
type held struct {
	work *workv1.ManifestWork
	// content is what the spec of the work shares its memory with.
	content *content
	// sequence is the sequence ID of the last report.
	sequence string
	// reported is the generation of the last report.
	reported int64
	// renewals is the pace at which it is sent again because its agent reports a newer generation.
	renewals renewals
	// wordAt is when its agent last reported anything of it; zero for never.
	wordAt time.Time
}

func newStore(clk clock.PassiveClock) *store {
	return &store{
		clock: clk, contents: newContents(), version: firstVersion,
		works: map[types.UID]*held{}, clusters: map[string][]*held{},
		generations: map[types.UID]int64{}, watchers: map[*watcher]bool{},
	}
}

// get finds a work; nil when there is none. It is the store's own, and must not be changed.
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

// list finds the works of a cluster, or of all, by label.
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

// in returns the works of a cluster, or of all, in no order, and the version of the store. They are copied without the lock.
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

// ofCluster are the works of a cluster, in the order of their names.
func (s *store) ofCluster(cluster string) []*workv1.ManifestWork {
	works, _ := s.in(cluster)
	slices.SortFunc(works, func(a, b *workv1.ManifestWork) int { return strings.Compare(a.Name, b.Name) })
	return works
}

// all are the works of all clusters, in the order of their UIDs.
func (s *store) all() []*workv1.ManifestWork {
	works, _ := s.in(metav1.NamespaceAll)
	slices.SortFunc(works, byUID)
	return works
}

// count returns how many works of a cluster are of a kind.
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

// clusterOf is the cluster of a work; empty where there is no such work.
func (s *store) clusterOf(uid types.UID) string {
	if work := s.get(uid); work != nil {
		return work.Namespace
	}
	return ""
}

// watch reports every change since a version. What was deleted in between is not known any more: then the caller has to list again.
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

// nextGeneration is greater than any that this work had, also in a life of this process that is forgotten.
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

// put stores what this hub wrote, and gives it its version. The status is the agent's: a report that came in between stays.
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

// store gives a work its version and notifies the watchers. The caller holds mu, and gives the work away. Its spec is what the content
// says.
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

// restore stores what an agent reported of a work that the store does not have.
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

// remove forgets a work that is gone from its cluster, or never was there.
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
