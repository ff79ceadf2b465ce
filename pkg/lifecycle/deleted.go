package lifecycle

import (
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// lost is a revision that should be there, and is created again.
type lost struct {
	hash string
	// template is nil where no work shows what it held.
	template *workv1.ManifestWorkSpec
	// current reports whether it is the stable one.
	current bool
	// recorded reports whether another hub rolled it out.
	recorded bool
	// onlyOn is the one cluster that another hub's revision was found on; empty where there were more.
	onlyOn string
	// entry is what is remembered of one that was deleted.
	entry revision.Entry
}

// verb is what creating it is called.
func (l *lost) verb() string {
	if l.recorded {
		return "recorded what another hub rolled out as"
	}
	return "rebuilt"
}

// key sets the requests about a deleted revision apart from those about one of another hub.
func (l *lost) key() string {
	if l.recorded {
		return "record"
	}
	return "rebuild"
}

// batch is what became of several requests: next is set where another one comes first, or the pass ends.
type batch struct {
	wrote  bool
	failed *Answer
	next   *Step
}

// deleted rebuilds revisions that somebody deleted (R7). The pass ends when it wrote any.
func (c *chain) deleted() *Step {
	if len(c.History.Revisions) == 0 && c.Revisions.UpdateRevision == "" {
		return nil // There never was one.
	}
	missing, all := c.missing()
	for i := 0; i < len(missing) && all.failed == nil && all.next == nil; i++ {
		all.add(c.remake(&missing[i], c.numberOf(&missing[i], len(missing))))
	}
	return c.rebuilt(&all)
}

// numberOf returns the revision number of one of several revisions that are created again.
func (c *chain) numberOf(l *lost, missing int) int64 {
	if l.hash == c.Revisions.UpdateRevision {
		// It was the newest: its rollout goes on, and is no undo.
		return max(c.History.NextNumber(), int64(missing))
	}
	return c.History.LowerNumber()
}

// rebuilt ends the pass where a revision was created again, or where the rollout can't go on without one.
func (c *chain) rebuilt(all *batch) *Step {
	switch {
	case all.next != nil:
		return all.next
	case all.wrote && all.failed != nil:
		return c.failed(all.failed)
	case all.wrote:
		return c.written("deleted revisions are rebuilt")
	case all.failed == nil:
		return nil
	case c.History.ByHash(c.Revisions.UpdateRevision) == nil:
		c.Pending = true // Under a new hash it would be another rollout (R1).
		return c.withoutRevision(Problem{Failed: all.failed})
	}
	return c.despite(all.failed)
}

// add takes over what became of one more request.
func (b *batch) add(one batch) {
	b.wrote = b.wrote || one.wrote
	b.failed, b.next = one.failed, one.next
}

// missing finds the live revisions that are gone, and what they held (R7). Only those count that the status names, or that this hub
// remembers: any other hash may be one that somebody put into a label.
func (c *chain) missing() ([]lost, batch) {
	named := sets.New(c.Revisions.CurrentRevision, c.Revisions.UpdateRevision)
	var missing []lost
	for _, hash := range sets.List(c.LiveHashes(&c.Revisions)) {
		if c.History.ByHash(hash) != nil {
			continue
		}
		entry, remembered := c.History.Entry(hash)
		if !remembered {
			entry.Digest = c.Memory.Unrecorded[hash]
		}
		template, read := c.contentOf(hash, entry.Digest)
		if read.failed != nil || read.next != nil {
			return nil, read
		}
		if template != nil || named.Has(hash) {
			missing = append(missing, lost{hash: hash, template: template, current: hash == c.Revisions.CurrentRevision, entry: entry})
		}
	}
	return missing, batch{}
}

// LiveHashes are those that are never pruned: the current and the update revision's, and those that works have or keep objects of (R5).
func (v *View) LiveHashes(revisions *status.Revisions) sets.Set[string] {
	live := sets.New(revisions.CurrentRevision, revisions.UpdateRevision)
	for i := range v.Works {
		if hash := v.Works[i].Hash(); i == 0 || hash != v.Works[i-1].Hash() { // Most works have the hash of the work before.
			live.Insert(hash)
		}
		if v.keepsDropped() {
			live.Insert(v.Works[i].KeptRevision()) // A restarted hub recognizes by it what the work holds.
		}
	}
	return live.Delete("")
}

// contentOf is what a lost revision held; nil where nothing shows it. It is the content of the spec, or of a work of a selected cluster that
// has the hash, that has the digest which this hub recorded. Without a record only the spec itself can be what the update revision held:
// works prove nothing, also where they agree (R7).
func (c *chain) contentOf(hash string, recorded revision.Digest) (*workv1.ManifestWorkSpec, batch) {
	template, works := &c.Object.Spec.ManifestWorkTemplate, c.selectedWith(hash)
	switch {
	case c.TemplateErr != nil:
	case recorded != "" && c.Template == recorded:
		return template, batch{}
	case recorded == "" && hash == c.Revisions.UpdateRevision:
		has := func(w *work.Work) bool { return w.Digest == c.Template }
		if slices.ContainsFunc(works, has) || revision.Names(hash, template, c.Revisions.CollisionCount) {
			return template, batch{}
		}
	}
	return c.contentOn(works, recorded)
}

// contentOn is the recorded content, as the first of some works holds it; nil where none does, or none is recorded.
func (c *chain) contentOn(works []*work.Work, recorded revision.Digest) (*workv1.ManifestWorkSpec, batch) {
	for _, w := range works {
		if recorded == "" || w.Digest != recorded {
			continue
		}
		spec, read := c.specOf(w)
		if read.failed != nil || read.next != nil {
			return nil, read
		}
		if revision.Holds(spec, recorded) {
			return spec, batch{}
		}
	}
	return nil, batch{}
}

// specOf reads what a work holds.
func (c *chain) specOf(w *work.Work) (*workv1.ManifestWorkSpec, batch) {
	name := w.Cluster() + "/" + w.Object.Name
	answer, next := c.do(Step{
		Action: ReadSpec, Key: "spec " + name, Work: w.Object, Digest: w.Digest, Why: "ManifestWork " + name + " may hold what a revision held",
	})
	switch {
	case next != nil:
		return nil, batch{next: next}
	case answer.Result != Done:
		return nil, batch{failed: answer}
	}
	return answer.Spec, batch{}
}

// selectedWith are the works of selected clusters that have a hash.
func (c *chain) selectedWith(hash string) []*work.Work {
	owners := placement.Owners(c.Refs)
	var found []*work.Work
	for i := range c.Works {
		w := &c.Works[i]
		if _, selected := owners[w.Cluster()]; selected && w.Hash() == hash {
			found = append(found, w)
		}
	}
	return found
}

// remake creates a revision with a number under the name that its hash gives it. Where something has that name that is not this
// object's, nothing can be done; the conditions say so when the revision is needed.
func (c *chain) remake(l *lost, number int64) batch {
	if l.template == nil {
		return c.reclaim(l)
	}
	wanted, err := revision.New(c.Object, l.template, l.hash, number)
	if err == nil {
		err = c.annotateRemade(wanted, l)
	}
	if err != nil {
		return batch{failed: &Answer{Key: l.key(), Result: Failed, Err: err}}
	}
	answer, next := c.do(Step{
		Action: Rebuild, Key: l.key() + " " + wanted.Name, Verb: "creating", Revision: wanted, Why: "revision " + wanted.Name + " is missing",
		Event: &Event{Reason: workv1alpha1.EventRevisionRebuilt, Action: "Rebuild", Note: fmt.Sprintf("%s revision %s", l.verb(), wanted.Name)},
	})
	switch {
	case next != nil:
		return batch{next: next}
	case answer.Result == Exists:
		return c.reclaim(l)
	case answer.Result != Done:
		return batch{failed: answer}
	}
	return batch{wrote: true}
}

// annotateRemade writes on a revision that is made from works what is known of it: where it comes from, when it was created first, since
// when it was the current one, and what it remembers of the others (R7).
func (c *chain) annotateRemade(wanted *appsv1.ControllerRevision, l *lost) error {
	set := func(key string, at time.Time) { wanted.Annotations[key] = stamp(at) }
	if cause := revision.ChangeCauseOf(c.Object); cause != "" && !l.recorded {
		wanted.Annotations[workv1alpha1.AnnotationCauseSeen] = cause
	}
	switch {
	case l.recorded:
		set(workv1alpha1.AnnotationRecorded, c.Now)
		if l.onlyOn != "" {
			wanted.Annotations[workv1alpha1.AnnotationRecordedOn] = l.onlyOn
		}
	case l.entry.Created.IsZero():
		set(workv1alpha1.AnnotationFirstCreated, c.Now)
	default:
		set(workv1alpha1.AnnotationFirstCreated, l.entry.Created)
	}
	since := l.entry.CurrentSince
	if l.current && !since.After(c.latestCurrentSince()) {
		since = c.History.NextCurrentSince(c.Now)
	}
	if !since.IsZero() {
		set(workv1alpha1.AnnotationCurrentSince, since)
	}
	if l.hash != c.Revisions.UpdateRevision {
		return nil
	}
	ledger, err := c.encodedLedger(l.hash)
	wanted.Annotations[workv1alpha1.AnnotationDigests] = ledger
	return err
}

// latestCurrentSince is when a revision that is there became the current one last; zero when none did.
func (c *chain) latestCurrentSince() (since time.Time) {
	if latest := c.History.LatestCurrent(); latest != nil {
		since, _ = latest.CurrentSince()
	}
	return since
}

// reclaim finds a revision that is there by its name, and gives it back the labels that somebody removed: without them no cache
// shows it, and it does not count (R7). It holds what it held: the data of a ControllerRevision never changes.
func (c *chain) reclaim(l *lost) batch {
	name := revision.Name(c.Object.Name, l.hash)
	found, next := c.do(Step{
		Action: ReadLive, Key: l.key() + " read " + name, Verb: "looking for", Name: name, Why: "revision " + name + " may have lost its labels",
	})
	switch {
	case next != nil:
		return batch{next: next}
	case found.Result == Missing:
		return batch{}
	case found.Result != Done:
		return batch{failed: found}
	case !metav1.IsControlledBy(found.Object, c.Object):
		return batch{}
	}
	labels := map[string]string{workv1alpha1.LabelControllerHash: l.hash, workv1alpha1.LabelReplicaSet: c.Owner}
	answer, next := c.do(patch(Relabel, l.key()+" relabel", found.Object, Patch{Labels: labels}, "revision "+name+" lost its labels"))
	switch {
	case next != nil:
		return batch{next: next}
	case answer.Result != Done:
		return batch{next: c.failed(answer)}
	}
	return batch{wrote: true}
}
