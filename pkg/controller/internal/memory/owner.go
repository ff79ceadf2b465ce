package memory

import (
	"maps"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/ledger"
	"github.com/open-cluster-management-io/work-rollback/pkg/lifecycle"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
	"github.com/open-cluster-management-io/work-rollback/pkg/workcache"
)

// Owner holds what this process knows about one ManifestWorkReplicaSet and can't read from the object.
//
// Only the pass over the object uses it, and only one pass runs at a time. The parts that a pass's concurrent writers
// or the informers use have locks of their own: Expectations, Works, Releases, and everything below mu.
type Owner struct {
	uid types.UID

	Expectations Expectations
	Works        *Works
	Releases     Releases
	Pace         Pace
	// Places are the places of the ledger that were unavailable at the last attempt.
	Places Places
	// Decided is the ledger that this process last decided or found; nil for none. It is used if both places lose the
	// ledger.
	Decided *ledger.Ledger
	// Confirmed is the resourceVersion of the object that last held the ledger, even if the cache does not show it; empty for none.
	Confirmed string
	// Verified is the resourceVersion of the object for which the cached revisions were compared with the live ones; empty for none.
	Verified string
	// Told is the last report; nil if this process has not reported anything.
	Told *status.Told
	// ReportedAt is the time at which a status was last written; zero for never.
	ReportedAt time.Time

	// failing holds the writes of works that failed when they were last tried, by their names in messages. A pass does
	// not change it while it writes works.
	failing map[string]*failure
	// answers holds the API server's answers to other requests that fail in each pass, by request.
	answers map[string]*answer
	// begun is the time at which this process first saw the beginning of the rollout.
	begun sighting
	// revisions are the decoded revisions of the last pass, by UID: the data of a ControllerRevision never changes.
	revisions map[types.UID]revision.Revision
	template  templateContent

	mu sync.Mutex
	// abort is the state of the object's abort after the last pass.
	abort Abort
	// notes holds the texts of the log and of events that each process reports once, at most notesKept.
	notes sets.Set[string]
	// writtenBack holds the clusters whose works were restored in an abort, with the target revision and the time when
	// the abort began.
	writtenBack lifecycle.WrittenBack
}

// templateContent is the digest of a template. The digest changes only with the generation.
type templateContent struct {
	generation int64
	digest     revision.Digest
	err        error
}

func newOwner(uid types.UID, digests *workcache.Digests) *Owner {
	return &Owner{uid: uid, Works: &Works{digests: digests}, Places: Places{}}
}

// BeginSeen returns the earlier of the time when the rollout began and the time when this process first saw that.
func (o *Owner) BeginSeen(began, now time.Time) time.Time { return o.begun.see(began, now) }

// Revisions returns the decoded revisions of the object, with their current labels and records. Each revision is
// decoded only once (P8).
func (o *Owner) Revisions(objects []*appsv1.ControllerRevision) []revision.Revision {
	found, decoded := make([]revision.Revision, 0, len(objects)), make(map[types.UID]revision.Revision, len(objects))
	for _, object := range objects {
		rev, known := o.revisions[object.UID]
		if !known {
			rev = revision.Decode(object)
		}
		decoded[object.UID] = rev
		rev.Object, rev.Hash, rev.Record = object, object.Labels[workv1alpha1.LabelControllerHash], revision.RecordOf(object)
		found = append(found, rev)
	}
	o.revisions = decoded
	return found
}

// Template returns the digest of the object's template, or an error if it has none. A template is parsed once per generation (P8).
func (o *Owner) Template(object *workv1alpha1.ManifestWorkReplicaSet) (revision.Digest, error) {
	if o.template.generation != object.Generation {
		o.template.generation = object.Generation
		o.template.digest, o.template.err = revision.DigestOf(&object.Spec.ManifestWorkTemplate)
	}
	return o.template.digest, o.template.err
}

// Retries allows an immediate write to clusters that a user retries, even if the API server recently rejected their works.
func (o *Owner) Retries(clusters []string) {
	for _, f := range o.failing {
		if slices.Contains(clusters, f.Cluster) {
			f.TriedAt = time.Time{}
		}
	}
}

// SetBack sets write times in the future to now, because the clock was set back after they were recorded. Some
// deadlines run from these times.
func (o *Owner) SetBack(now time.Time) {
	for _, f := range o.failing {
		setBack(now, &f.Since, &f.RefusedSince, &f.TriedAt)
	}
}

// WroteBack records that the work of a cluster was restored in an abort.
func (o *Owner) WroteBack(abort, cluster string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.writtenBack.Abort != abort {
		o.writtenBack = lifecycle.WrittenBack{Abort: abort, Clusters: map[string]bool{}}
	}
	o.writtenBack.Clusters[cluster] = true
}

// WrittenBack returns the clusters whose works were restored, and in which abort.
func (o *Owner) WrittenBack() lifecycle.WrittenBack {
	o.mu.Lock()
	defer o.mu.Unlock()
	found := o.writtenBack
	found.Clusters = maps.Clone(found.Clusters)
	return found
}

// Abort is the state of an object's abort after a pass.
type Abort int

// The states of an abort.
const (
	// NoAbort means that no abort is in progress, or that no pass has run yet.
	NoAbort Abort = iota
	// AbortUnderWay means that works have yet to be restored.
	AbortUnderWay
	// AbortStuck means that there is no revision to roll back to, so nothing is restored.
	AbortStuck
)

// LeaveAbort records the state of the object's abort after a pass, because the status may not be able to hold it.
func (o *Owner) LeaveAbort(left Abort) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.abort = left
}

// Abort returns the state of the object's abort after the last pass.
func (o *Owner) Abort() Abort {
	if o == nil {
		return NoAbort
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.abort
}
