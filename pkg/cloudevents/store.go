package cloudevents

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"
	workv1 "open-cluster-management.io/api/work/v1"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/common"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/utils"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// firstVersion is where resourceVersions begin: beyond any generation, so that sdk-go, which compares the two, sends an agent that
// asks all that the hub has for it.
const firstVersion = int64(1) << 32

// epoch is where generations begin: they are seconds since then, because an event holds 32 bits of them, and because they must go on
// growing when a restart has forgotten them. An agent ignores a work whose generation is less than the one that it has.
var epoch = time.Date(2024, time.January, 1, 0, 0, 0, 0, time.UTC)

// store keeps the works. What it hands out is never changed.
type store struct {
	clock clock.PassiveClock

	mu      sync.Mutex
	version int64
	// lastDeletion is the version at which a work was deleted last.
	lastDeletion int64
	works        map[types.UID]*workv1.ManifestWork
	// clusters holds the works of each cluster.
	clusters map[string]map[types.UID]*workv1.ManifestWork
	// sequences holds the sequence ID of the last report of each work.
	sequences map[types.UID]string
	// generations holds the last generation that was tried of each work that ever was: a number that an agent may have seen is never
	// used again for another content.
	generations map[types.UID]int64
	watchers    map[*watcher]bool
}

func newStore(clk clock.PassiveClock) *store {
	return &store{
		clock: clk, version: firstVersion,
		works: map[types.UID]*workv1.ManifestWork{}, clusters: map[string]map[types.UID]*workv1.ManifestWork{}, sequences: map[types.UID]string{},
		generations: map[types.UID]int64{}, watchers: map[*watcher]bool{},
	}
}

// get finds a work; nil when there is none.
func (s *store) get(uid types.UID) *workv1.ManifestWork {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.works[uid]
}

// list finds the works of a cluster, or of all, by label.
func (s *store) list(namespace string, selector labels.Selector) *workv1.ManifestWorkList {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.works
	if namespace != metav1.NamespaceAll {
		found = s.clusters[namespace]
	}
	list := &workv1.ManifestWorkList{ListMeta: metav1.ListMeta{ResourceVersion: strconv.FormatInt(s.version, 10)}}
	for _, uid := range slices.Sorted(maps.Keys(found)) {
		if work := found[uid]; selector.Matches(labels.Set(work.Labels)) {
			list.Items = append(list.Items, *work.DeepCopy())
		}
	}
	return list
}

// ofCluster are the works of a cluster, in the order of their names.
func (s *store) ofCluster(cluster string) []*workv1.ManifestWork {
	s.mu.Lock()
	works := slices.Collect(maps.Values(s.clusters[cluster]))
	s.mu.Unlock()
	slices.SortFunc(works, func(a, b *workv1.ManifestWork) int { return strings.Compare(a.Name, b.Name) })
	return works
}

// owners counts the works by the value of their owner label.
func (s *store) owners() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := map[string]int{}
	for _, work := range s.works {
		counts[work.Labels[workv1alpha1.LabelReplicaSet]]++
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

// watch tells of every change since a version. What was deleted in between is not known any more: then the caller has to list again.
func (s *store) watch(since string) (*watcher, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from, err := strconv.ParseInt(since, 10, 64)
	if err != nil || from < s.lastDeletion {
		return nil, apierrors.NewResourceExpired("works were deleted since resourceVersion " + since)
	}
	w := newWatcher(s.unwatch)
	s.watchers[w] = true
	for _, work := range s.works {
		if version, _ := strconv.ParseInt(work.ResourceVersion, 10, 64); version > from {
			w.send(watch.Event{Type: watch.Modified, Object: work.DeepCopy()})
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
	if work := s.works[uid]; work != nil {
		next = max(next, work.Generation+1)
	}
	s.generations[uid] = next
	return next
}

// put stores what this hub wrote, and gives it its version. The status is the agent's: a report that came in between stays.
func (s *store) put(work *workv1.ManifestWork) *workv1.ManifestWork {
	s.mu.Lock()
	defer s.mu.Unlock()
	if before := s.works[work.UID]; before != nil {
		work.Status, work.Finalizers = before.Status, before.Finalizers
	}
	return s.store(work)
}

// store gives a work its version and tells the watchers. The caller holds mu, and gives the work away.
func (s *store) store(work *workv1.ManifestWork) *workv1.ManifestWork {
	what := watch.Modified
	if s.works[work.UID] == nil {
		what = watch.Added
	}
	s.version++
	work.ResourceVersion = strconv.FormatInt(s.version, 10)
	s.works[work.UID] = work
	if s.clusters[work.Namespace] == nil {
		s.clusters[work.Namespace] = map[types.UID]*workv1.ManifestWork{}
	}
	s.clusters[work.Namespace][work.UID] = work
	s.generations[work.UID] = max(s.generations[work.UID], work.Generation)
	s.tell(what, work)
	return work
}

// restore stores what an agent told of a work that the store does not have.
func (s *store) restore(work *workv1.ManifestWork, sequence string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sequences[work.UID] = sequence
	s.store(work)
}

// remove forgets a work that is gone from its cluster, or never was there.
func (s *store) remove(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if work := s.works[uid]; work != nil {
		s.forget(work)
	}
}

func (s *store) forget(work *workv1.ManifestWork) {
	delete(s.works, work.UID)
	if delete(s.clusters[work.Namespace], work.UID); len(s.clusters[work.Namespace]) == 0 {
		delete(s.clusters, work.Namespace)
	}
	delete(s.sequences, work.UID)
	last := work.DeepCopy()
	s.version++
	s.lastDeletion = s.version
	last.ResourceVersion = strconv.FormatInt(s.version, 10)
	s.tell(watch.Deleted, last)
}

func (s *store) tell(what watch.EventType, work *workv1.ManifestWork) {
	for w := range s.watchers {
		w.send(watch.Event{Type: what, Object: work.DeepCopy()})
	}
}

// verdict is what a report of an agent means.
type verdict int

const (
	// noted means that the store holds what the report says.
	noted verdict = iota
	// unknown means that the store has no such work.
	unknown
	// astray means that the agent does not have what the hub believes it has, and must be sent it again.
	astray
	// unsure means that the agent has what a write of this hub sent that has not ended yet, or that failed.
	unsure
)

// report takes over what an agent says of a work.
func (s *store) report(reported *workv1.ManifestWork) verdict {
	s.mu.Lock()
	defer s.mu.Unlock()
	work := s.works[reported.UID]
	gone := meta.IsStatusConditionTrue(reported.Status.Conditions, common.ResourceDeleted)
	switch {
	case work == nil && gone:
		return noted
	case work == nil:
		return unknown
	case gone && work.DeletionTimestamp.IsZero():
		return astray
	case gone:
		s.forget(work)
		return noted
	case reported.Generation > work.Generation && work.DeletionTimestamp.IsZero():
		if reported.Generation <= s.generations[work.UID] {
			return unsure
		}
		return astray
	}
	sequence := reported.Annotations[common.CloudEventsSequenceIDAnnotationKey]
	if later, err := utils.CompareSnowflakeSequenceIDs(s.sequences[work.UID], sequence); err != nil || !later {
		return noted
	}
	s.sequences[work.UID] = sequence
	status := mergeStatus(&work.Status, &reported.Status, work.Generation)
	if len(work.Finalizers) > 0 && equality.Semantic.DeepEqual(work.Status, status) {
		return noted
	}
	changed := work.DeepCopy()
	changed.Status = status
	// It is on the cluster: from now on deletion waits for the agent.
	changed.Finalizers = []string{workv1.ManifestWorkFinalizer}
	s.store(changed)
	return noted
}
