package cloudevents

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// epoch is the start of generations. A generation is the number of seconds since the epoch, because an event holds only
// 32 bits, and generations must increase even across restarts that lose them. An agent ignores a work with a lower
// generation than its own.
var epoch = time.Date(2024, time.January, 1, 0, 0, 0, 0, time.UTC)

// store keeps the hub's knowledge about works and clusters. The works that it returns are never changed. A settled work
// takes only the memory of its metadata and trimmed status, because all works of a revision share their content.
type store struct {
	clock    clock.PassiveClock
	contents *contents

	mu      sync.Mutex
	version int64
	// lastDeletion is the version at which a work was last deleted.
	lastDeletion int64
	records      map[types.UID]*record
	clusters     map[string]*cluster
	// reports holds the records with a kept report.
	reports map[types.UID]*record
	// unread is the number of events that wait to be read, and bytes is the memory of these events and the kept reports.
	unread, bytes int
	watchers      map[*watcher]bool
	// unreached is the number of clusters with unreached works.
	unreached int
}

// record holds all of the hub's data about a work. It is dropped when it is empty.
type record struct {
	uid     types.UID
	cluster *cluster

	// work is nil if the hub does not have the work.
	work *workv1.ManifestWork
	// content shares its memory with the spec of the work.
	content *content
	word
	// write is the last write, if no agent has confirmed it or the work is not settled; nil for none.
	write *write
	// unanswered is true if all agents were asked, and none of them has reported the work since then.
	unanswered bool
	// unreached is true if the agent is connected but did not receive the last write.
	unreached bool

	// kept is a report that has not been processed yet; nil for none.
	kept *kept
	// reports is the number of reports of the work so far, and readers is the number of live reads that wait for the
	// next report.
	reports, readers int
}

// word holds the facts about an agent's last report of a work that the hub has.
type word struct {
	// sequence is the sequence ID of the last report.
	sequence string
	// reported is the generation of the last report.
	reported int64
	// wordAt is the time of the last report; zero if there was none.
	wordAt time.Time
	// renewals limits how often the work is sent again because its agent reports a newer generation; nil before the first time.
	renewals *rate.Limiter
}

// cluster holds all of the hub's data about a cluster. Once the hub has heard from the cluster's agent, it is kept
// until the process ends.
type cluster struct {
	// records holds the records of the cluster's works.
	records []*record
	// unreached is the number of its works whose agent did not get the last write.
	unreached int
	inbox
	// bytes is the memory of the cluster's unread events and kept reports.
	bytes int
	// given is the highest generation of the cluster's works, including failed writes. An agent may have seen it, so it
	// is never reused for other content.
	given int64
	// removals is the number of deletions of unwanted works that are being sent.
	removals int
	// heardSince and heardLast are the times when the hub first and last heard from the cluster's agent; zero for never.
	heardSince, heardLast time.Time
	// answered is the time at which its agent was last sent the works that it asked for.
	answered time.Time
	// asked is the time at which its agent was last asked because a work has been in progress for a long time, or because
	// events were dropped.
	asked time.Time
}

func newStore(clk clock.PassiveClock) *store {
	return &store{
		clock: clk, contents: newContents(), version: 1, records: map[types.UID]*record{}, clusters: map[string]*cluster{},
		reports: map[types.UID]*record{}, watchers: map[*watcher]bool{},
	}
}

// cluster returns the entry of a cluster, and creates it if necessary. The caller holds mu.
func (s *store) cluster(name string) *cluster {
	c := s.clusters[name]
	if c == nil {
		c = &cluster{}
		s.clusters[name] = c
	}
	return c
}

// record returns the record of a work, and creates it if necessary. The caller holds mu.
func (s *store) record(name string, uid types.UID) *record {
	r := s.records[uid]
	if r == nil {
		r = &record{uid: uid, cluster: s.cluster(name)}
		s.records[uid] = r
		r.cluster.records = append(r.cluster.records, r)
	}
	return r
}

// release drops a record if it is empty. The caller holds mu.
func (s *store) release(r *record) {
	if r.work != nil || r.write != nil || r.kept != nil || r.readers > 0 || s.records[r.uid] != r {
		return
	}
	c := r.cluster
	c.records = slices.DeleteFunc(c.records, func(other *record) bool { return other == r })
	delete(s.records, r.uid)
}

// generationAt returns the lowest generation that is assigned at a time.
func generationAt(now time.Time) int64 { return int64(now.Sub(epoch) / time.Second) }

// get returns a work, or nil if there is none. The work belongs to the store, and must not be changed.
func (s *store) get(uid types.UID) *workv1.ManifestWork {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.records[uid]; r != nil {
		return r.work
	}
	return nil
}

// list returns the works of a cluster, or of all clusters, that match a label selector.
func (s *store) list(namespace string, selector labels.Selector) *workv1.ManifestWorkList {
	found, version := s.in(namespace)
	list := &workv1.ManifestWorkList{ListMeta: metav1.ListMeta{ResourceVersion: strconv.FormatInt(version, 10)}}
	for _, work := range found {
		if selector.Matches(labels.Set(work.Labels)) {
			list.Items = append(list.Items, *copyOf(work))
		}
	}
	return list
}

// in returns the works of a cluster, or of all clusters, sorted by name, and the version of the store. It sorts them without holding the
// lock.
func (s *store) in(namespace string) (works []*workv1.ManifestWork, version int64) {
	works, version = s.unsorted(namespace)
	slices.SortFunc(works, func(a, b *workv1.ManifestWork) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return works, version
}

func (s *store) unsorted(namespace string) (works []*workv1.ManifestWork, version int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	clusters := s.clusters
	if namespace != metav1.NamespaceAll {
		clusters = map[string]*cluster{}
		if c := s.clusters[namespace]; c != nil {
			clusters[namespace] = c
		}
	}
	for _, c := range clusters {
		for _, r := range c.records {
			if r.work != nil {
				works = append(works, r.work)
			}
		}
	}
	return works, s.version
}

// clusterOf returns the cluster of a work; empty if there is no such work.
func (s *store) clusterOf(uid types.UID) string {
	if work := s.get(uid); work != nil {
		return work.Namespace
	}
	return ""
}

// watch reports every change since a version. If earlier deletions have been forgotten, the caller must list again.
func (s *store) watch(since string) (*watcher, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from, err := strconv.ParseInt(since, 10, 64)
	if err != nil || from < s.lastDeletion {
		return nil, apierrors.NewResourceExpired("works were deleted since resourceVersion " + since)
	}
	w := newWatcher(s.unwatch)
	s.watchers[w] = true
	for _, r := range s.records {
		if r.work == nil {
			continue
		}
		if version, _ := strconv.ParseInt(r.work.ResourceVersion, 10, 64); version > from {
			w.send(watch.Event{Type: watch.Modified, Object: copyOf(r.work)})
		}
	}
	return w, nil
}

func (s *store) unwatch(w *watcher) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.watchers, w)
}

// nextGeneration returns a generation greater than any that a work of a cluster has had, including those of earlier processes.
func (s *store) nextGeneration(name string, atLeast int64) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.cluster(name)
	c.given = max(c.given+1, atLeast, generationAt(s.clock.Now()))
	c.given = min(c.given, math.MaxInt32) // Reports with such a generation are refused.
	return c.given
}

// put stores a write by this hub, and assigns its version. The status belongs to the agent, so put keeps a report that
// arrived in the meantime.
func (s *store) put(work *workv1.ManifestWork) *workv1.ManifestWork {
	content := s.contents.contentOf(&work.Spec)
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.record(work.Namespace, work.UID)
	if r.work != nil {
		work.Status, work.Finalizers = r.work.Status, r.work.Finalizers
	}
	s.store(r, work, content)
	return work
}

// store assigns a version to a work and notifies the watchers. The caller holds mu, and must not use the work
// afterwards. Its spec is the content.
func (s *store) store(r *record, work *workv1.ManifestWork, content *content) {
	what := watch.Modified
	if r.work == nil {
		what = watch.Added
	}
	s.version++
	work.ResourceVersion = strconv.FormatInt(s.version, 10)
	work.Spec = content.spec
	r.work, r.content = work, content
	r.cluster.given = max(r.cluster.given, work.Generation)
	s.notify(what, work)
}

// restore stores a reported work that the store does not have, if admits returns true. It reports whether it stored the
// work. admits is called with mu held.
func (s *store) restore(work *workv1.ManifestWork, sequence string, admits func() bool) bool {
	work.Status = mergeStatus(&workv1.ManifestWorkStatus{}, &work.Status, 0, mostManifests(work))
	content := s.contents.contentOf(&work.Spec)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !admits() {
		return false
	}
	r := s.record(work.Namespace, work.UID)
	s.store(r, work, content)
	r.sequence, r.reported = sequence, work.Generation
	return true
}

// beginRemoval reports whether one more unwanted work may be deleted from a cluster. If so, the caller must call end once the deletion is
// stored or has failed.
func (s *store) beginRemoval(name string) (end func(), admitted bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.clusters[name]
	if c == nil || s.countLocked(name, isDeleting)+c.removals >= maxUnwanted {
		return nil, false
	}
	c.removals++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		c.removals--
	}, true
}

// countLocked returns the number of works of a cluster for which matches returns true. The caller holds mu.
func (s *store) countLocked(cluster string, matches func(*workv1.ManifestWork) bool) (n int) {
	known := s.clusters[cluster]
	if known == nil {
		return 0
	}
	for _, r := range known.records {
		if r.work != nil && matches(r.work) {
			n++
		}
	}
	return n
}

// touch gives a work a new version without changing it, so that watchers process it again. The caller holds mu.
func (s *store) touch(r *record) {
	if r.work != nil {
		same := *r.work
		s.store(r, &same, r.content)
	}
}

// remove removes a work from the store, if the store has it.
func (s *store) remove(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.records[uid]; r != nil && r.work != nil {
		s.forget(r)
	}
}

// forget removes the work of a record, and notifies the watchers. The caller holds mu.
func (s *store) forget(r *record) {
	last := copyOf(r.work)
	r.work, r.content, r.word = nil, nil, word{}
	s.version++
	s.lastDeletion = s.version
	last.ResourceVersion = strconv.FormatInt(s.version, 10)
	s.notify(watch.Deleted, last)
	s.release(r)
}

func (s *store) notify(what watch.EventType, work *workv1.ManifestWork) {
	for w := range s.watchers {
		w.send(watch.Event{Type: what, Object: copyOf(work)})
	}
}

// hear records that the agent of a cluster sent an event.
func (s *store) hear(name string) {
	now := s.clock.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.cluster(name)
	if c.heardLast = now; c.heardSince.IsZero() {
		c.heardSince = now
	}
}

// HeardSince returns the time at which this process first heard from the agent of a cluster; false if it has not. A
// broker does not keep reports, so a cluster that this process has not heard from may have succeeded long ago.
func (d *Driver) HeardSince(cluster string) (time.Time, bool) {
	d.store.mu.Lock()
	defer d.store.mu.Unlock()
	c := d.store.clusters[cluster]
	if c == nil {
		return time.Time{}, false
	}
	return c.heardSince, !c.heardSince.IsZero()
}

// Claimed returns the hashes of works that agents report for an owner but that this hub does not know. After a restart,
// works can't be restored while their revisions can't be read. Agents can report anything, so counts reports whether
// the owner can have a work of that name in that cluster.
func (d *Driver) Claimed(owner string, counts func(cluster, name string) bool) []string {
	d.store.mu.Lock()
	defer d.store.mu.Unlock()
	var hashes []string
	for _, r := range d.store.reports {
		report := r.kept.report
		if r.work == nil && ownerLabelOf(report) == owner && counts(report.Namespace, report.Name) {
			hashes = append(hashes, report.Labels[workv1alpha1.LabelControllerHash])
		}
	}
	return hashes
}
