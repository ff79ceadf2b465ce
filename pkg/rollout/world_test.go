package rollout_test

import (
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
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

	revisions map[string]*work.Revision
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
	placement.Ref
	groups  []placement.Group // all that there can be; the empty ones have no decision
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
		refs: refs, works: map[string]*worldWork{}, revisions: map[string]*work.Revision{},
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
