package rollout_test

import (
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	rt "github.com/open-cluster-management-io/work-rollback/pkg/rollout/rollouttest"
)

// report is what an agent says of the work's generation, in one word.
type report string

const (
	silent      report = "nothing"
	unapplied   report = "not applied"
	progressing report = "progress"
	degraded    report = "degraded"
	succeeding  report = "success"
)

var reports = []report{silent, unapplied, progressing, degraded, succeeding}

// world is a hub with one owner, its Placements, and the agents of a few clusters. It carries out what Decide wants, keeps
// what a hub persists, and remembers by itself what became of each write, so that plans can be judged by other means
// than those that made them.
type world struct {
	now            time.Time
	settle         time.Duration
	deadlinesSince time.Time
	refs           []*worldRef
	works          map[string]*worldWork

	// records are what the status holds, failed and stuck the clusters that had failed at a pass: facts, whatever the hub records (R11).
	records       rollout.Records
	last          *rollout.Plan
	failed, stuck map[string]bool

	revisions map[string]*rollout.Revision
	update    string
	current   string
	aborted   bool
	paused    bool
	// keeps is pruneStrategy WhenAvailable: each revision has an object of its own, which it drops of the others.
	keeps bool

	log func(format string, args ...any)
	// check judges each plan before it is carried out.
	check func(s *rollout.Snapshot, p *rollout.Plan)
}

// worldRef is a placementRef, and the clusters of its Placement by group.
type worldRef struct {
	rollout.Ref
	groups  []rollout.Group // all that there can be; the empty ones have no decision
	missing bool
	hidden  int // clusters that the Placement counts and no decision shows yet
}

func (r *worldRef) join(group int, cluster string) {
	r.leave(cluster)
	g := &r.groups[group]
	g.Clusters = append(slices.Clone(g.Clusters), cluster)
}

func (r *worldRef) leave(cluster string) {
	for i := range r.groups {
		r.groups[i].Clusters = slices.DeleteFunc(slices.Clone(r.groups[i].Clusters), func(c string) bool { return c == cluster })
	}
}

// worldWork is a ManifestWork, and what became of the last write.
type worldWork struct {
	cluster    string
	object     *workv1.ManifestWork
	content    string // the hash of the revision whose content it has
	deleting   bool
	unselected time.Time

	report      report
	reportSince time.Time
	seenSuccess time.Time
	// watchedSince is since when the hub's process has seen what became of a write, knownSettled when it found that settled.
	watched                    string
	watchedSince, knownSettled time.Time
	// settled is what it ever was since the last write or the begin of the rollout, whichever is later.
	settled bool
	// served is the revision that settled there last, as far as the hub's process can know.
	served string
}

func newWorld(refs ...*worldRef) *world {
	w := &world{
		now: rt.Epoch, deadlinesSince: rt.At(-hour), settle: 3 * second,
		refs: refs, works: map[string]*worldWork{}, revisions: map[string]*rollout.Revision{},
		failed: map[string]bool{}, stuck: map[string]bool{},
		log: func(string, ...any) {}, check: func(*rollout.Snapshot, *rollout.Plan) {},
	}
	for i, ref := range refs {
		ref.Field = fmt.Sprintf("spec.placementRefs[%d]", i)
	}
	return w
}

// template changes the template, to a new one or to an older one.
func (w *world) template(hash string) {
	if hash == w.update || w.paused {
		return // A template that is edited while paused begins no rollout (R23).
	}
	w.log("template %s", hash)
	if known := w.revisions[hash]; known != nil {
		again := *known
		again.Reused, again.BeginsAt = true, w.now
		w.revisions[hash] = &again
	} else {
		w.revisions[hash] = rt.Revision(hash)
	}
	// A hub finishes an abort that it has begun before the next rollout (R4).
	if w.aborted {
		w.pass()
	}
	w.update, w.aborted = hash, false
	w.begin()
}

// retry is a person clearing abortedTime.
func (w *world) retry() {
	if !w.aborted {
		return
	}
	w.log("retry of %s", w.update)
	again := *w.revisions[w.update]
	again.BeginsAt = w.now
	w.revisions[w.update] = &again
	w.aborted = false
	w.begin()
}

// begin forgets what works did before this rollout.
func (w *world) begin() {
	w.records, w.failed, w.stuck = rollout.Records{}, map[string]bool{}, map[string]bool{}
	for _, work := range w.works {
		work.settled = false
		if !w.keeps || work.deleting {
			work.seenSuccess = time.Time{}
		}
		if !w.knowsSettled(work) {
			work.forgetServed()
		}
	}
}

// pause is a person setting spec.paused, or removing it.
func (w *world) pause(paused bool) {
	if w.paused != paused {
		w.log("paused: %v", paused)
		w.paused = paused
	}
}

// restart is the hub's.
func (w *world) restart() {
	w.log("the hub restarts")
	w.deadlinesSince = w.now
	for _, work := range w.works {
		work.seenSuccess, work.unselected, work.watched = time.Time{}, time.Time{}, ""
		work.forgetServed()
	}
}

// say is an agent's report on the work as it is now.
func (w *world) say(cluster string, r report) {
	work := w.works[cluster]
	if work == nil || work.report == r || work.deleting && !work.seenSuccess.IsZero() {
		return // What an agent says of a success that it takes away is about that.
	}
	w.log("%s reports %s", cluster, r)
	work.report, work.reportSince = r, w.now
	at := w.now.Sub(rt.Epoch)
	options := []rt.WorkOption{rt.Generation(work.object.Generation)}
	switch r {
	case unapplied:
		options = append(options, rt.NotApplied(at))
	case progressing:
		options = append(options, rt.InFlight(at))
	case degraded:
		options = append(options, rt.Degraded(at))
	case succeeding:
		options = append(options, rt.Succeeded(at))
	}
	if work.kept() != "" {
		options = append([]rt.WorkOption{rt.Generation(work.object.Generation)}, beside(r, at)...)
	}
	work.object.Status = rt.Work(cluster, options...).Object.Status
	work.seenSuccess = time.Time{}
}

// vanish is an agent letting go of a work that is being deleted.
func (w *world) vanish(cluster string) {
	if work := w.works[cluster]; work != nil && work.deleting {
		w.log("%s has let its work go", cluster)
		delete(w.works, cluster)
	}
}

// remove is a person deleting the work of a cluster. Its agent may be offline.
func (w *world) remove(cluster string) {
	if work := w.works[cluster]; work != nil && !work.deleting {
		w.log("the work of %s is deleted", cluster)
		work.delete(w.now)
	}
}

func (work *worldWork) delete(now time.Time) {
	at := metav1.NewTime(now)
	work.deleting, work.object.DeletionTimestamp = true, &at
	work.object.Generation++ // The API server's way.
}

func (work *worldWork) deletedAt() time.Time {
	if !work.deleting {
		return time.Time{}
	}
	return work.object.DeletionTimestamp.Time
}

// edit is a person changing a work by hand.
func (w *world) edit(cluster string) {
	if work := w.works[cluster]; work != nil && work.content != "edited" {
		w.log("%s is edited", cluster)
		work.content = "edited"
		work.object.Generation++
		work.report, work.reportSince = silent, w.now
	}
}

func (w *world) owners() map[string]*worldRef {
	owners := map[string]*worldRef{}
	for _, ref := range w.refs {
		if ref.missing {
			continue
		}
		for _, g := range ref.groups {
			for _, cluster := range g.Clusters {
				if owners[cluster] == nil {
					owners[cluster] = ref
				}
			}
		}
	}
	return owners
}

func (w *world) sorted() []*worldWork {
	var all []*worldWork
	for _, cluster := range slices.Sorted(maps.Keys(w.works)) {
		all = append(all, w.works[cluster])
	}
	return all
}

// observe makes the snapshot, as a hub would.
func (w *world) observe() *rollout.Snapshot {
	s := &rollout.Snapshot{
		Now: w.now, DeadlinesSince: w.deadlinesSince, Settle: w.settle, Owner: rt.Owner,
		Update: w.revisions[w.update], Current: w.revisions[w.current], Aborted: w.aborted, Paused: w.paused,
		Records: w.records,
	}
	if s.Current == nil {
		s.Absent = &rollout.Absence{Cause: rollout.NeverComplete}
	}
	w.observeHandover(s)
	owners := w.owners()
	for _, ref := range w.refs {
		view := ref.Ref
		view.Placement = nil
		if !ref.missing {
			view.Placement = &rollout.Placement{Decisions: 1, Selected: ref.hidden}
			for _, g := range ref.groups {
				if len(g.Clusters) > 0 {
					view.Placement.Groups = append(view.Placement.Groups, g)
					view.Placement.Selected += len(g.Clusters)
				}
			}
		}
		s.Refs = append(s.Refs, view)
	}
	desired := w.update
	if w.aborted && s.Current != nil {
		desired = w.current
	}
	for _, work := range w.sorted() {
		if owners[work.cluster] != nil {
			work.unselected = time.Time{}
		} else if work.unselected.IsZero() {
			work.unselected = w.now
		}
		if w.keeps {
			desired = work.hash()
		}
		if succeeds := work.at(desired) && work.report == succeeding; !succeeds {
			work.seenSuccess = time.Time{}
		} else if work.seenSuccess.IsZero() {
			work.seenSuccess = w.now
		}
		spec := work.object.Generation
		if work.deleting {
			spec--
		}
		if write := fmt.Sprint(spec, work.writtenAt()); work.watched != write {
			work.watched, work.watchedSince, work.knownSettled = write, w.now, time.Time{}
		}
		s.Works = append(s.Works, rollout.Work{
			WatchedSince: work.watchedSince, SettledAt: work.knownSettled,
			Object: work.object.DeepCopy(), Digest: rt.DigestOf(work.content),
			SucceededSince: work.seenSuccess, UnselectedSince: work.unselected, DeletionCounts: true, Combined: w.combined(work),
		})
	}
	return s
}

// pass is one look of the hub: it decides, persists, and acts.
func (w *world) pass() *rollout.Plan {
	s := w.observe()
	p := rollout.Decide(s)
	w.note()
	if p.Abort == nil && p.Records.Adds(&s.Records) {
		w.records = p.Records // That is persisted, and ends a pass (R11).
		return w.pass()
	}
	w.records, w.last = p.Records, p
	w.check(s, p)
	switch {
	case p.Abort != nil:
		w.log("abort: %s", p.Abort.Reason)
		w.aborted = true
		return p
	case p.Complete && w.current != w.update:
		w.log("complete: %s", w.update)
		w.current = w.update
	}
	for _, write := range p.Writes {
		w.log("%s", write)
		w.write(s, write)
	}
	for _, d := range p.Deletes {
		w.log("%s", d)
		w.works[d.Work.Cluster()].delete(w.now)
	}
	return p
}

func (w *world) write(s *rollout.Snapshot, write rollout.Write) {
	work := w.works[write.Cluster]
	if work == nil {
		work = &worldWork{cluster: write.Cluster, object: &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{
			Name: rt.OwnerName, Namespace: write.Cluster, UID: types.UID(write.Cluster + w.now.String()), Annotations: rollout.WorkAnnotations(nil),
		}}}
		w.works[write.Cluster] = work
	}
	hash := work.object.Labels[workv1alpha1.LabelControllerHash]
	work.object.Labels = rollout.WorkLabels(s, write.Placement)
	work.object.Labels[workv1alpha1.LabelControllerHash] = hash
	if write.Revision == nil {
		return
	}
	content := write.Revision.Hash
	delete(work.object.Annotations, workv1alpha1.AnnotationKeptRevision)
	if write.KeptRevision != "" {
		content += "+" + write.KeptRevision
		work.object.Annotations[workv1alpha1.AnnotationKeptRevision] = write.KeptRevision
	}
	if work.content != content {
		work.object.Generation++
		work.report, work.reportSince = silent, w.now
	}
	work.content = content
	work.object.Labels[workv1alpha1.LabelControllerHash] = write.Revision.Hash
	work.object.Annotations[workv1alpha1.AnnotationAppliedAt] = w.now.Format(time.RFC3339Nano)
	if write.Group != "" {
		work.object.Annotations[workv1alpha1.AnnotationDecisionGroup] = write.Group
	}
	work.settled, work.seenSuccess = false, time.Time{}
}

func (work *worldWork) at(hash string) bool {
	return work.hash() == hash && (work.content == hash || work.kept() != "" && work.content == hash+"+"+work.kept())
}

func (work *worldWork) writtenAt() time.Time {
	at, _ := time.Parse(time.RFC3339Nano, work.object.Annotations[workv1alpha1.AnnotationAppliedAt])
	return at
}

// String is for the logs of the property tests.
func (r *worldRef) String() string {
	return fmt.Sprintf("%s %+v hidden %d missing %v", r.Name, r.groups, r.hidden, r.missing)
}
func (r *worldRef) GoString() string { return r.String() }
