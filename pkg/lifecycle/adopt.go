package lifecycle

import (
	"fmt"
	"slices"
	"time"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/adoption"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// adopt records the templates that another hub rolled out before this hub knew the object, or while the other hub ran in its place.
// Every spec of the works becomes a revision before the template in the spec does: until the template has a revision, a restarted process
// knows that the adoption is not complete. The current revision is decided before the first work gets a hash, because a hash hides which
// hub wrote the work.
func (c *chain) adopt() *Step {
	unlabelled := func(w work.Work) bool { return w.Hash() == "" }
	if c.TemplateErr != nil || !slices.ContainsFunc(c.Works, unlabelled) {
		return nil
	}
	update := c.History.ByDigest(c.Template)
	in := c.pastInput(update)
	past := adoption.ReadHistory(in)
	if update != nil && !past.Surpassed {
		return nil
	}
	return c.recordPast(in, &past)
}

// endAbort ends an abort of the template's rollout if another hub has rolled out the template since, and every cluster succeeded with it.
// The revision is then the current one. This is recorded on the revision first, then in the status, where Begin persists it. A
// process that was killed between the two finds the revision current since the abort.
func (c *chain) endAbort() *Step {
	update := c.History.ByDigest(c.Template)
	if c.TemplateErr != nil || update == nil || update.Hash != c.Revisions.UpdateRevision {
		return nil
	}
	at, marked := update.AbortedAt()
	if c.Revisions.AbortedTime != nil {
		at = c.Revisions.AbortedTime.Time
	} else if !marked {
		return nil
	}
	everywhere, succeeded, only := c.pastInput(update).RolledOut(work.NewRevision(update), c.Now)
	recorded := !marked && update.CurrentSince.After(at)
	switch {
	case !everywhere || !succeeded && !recorded:
		return nil
	case !recorded:
		return c.write(c.abortEnded(update, only), c.failed)
	}
	c.Revisions.AbortedTime, c.Revisions.CurrentRevision = nil, update.Hash
	return nil
}

// abortEnded records that another hub rolled out a revision whose rollout was aborted here.
func (c *chain) abortEnded(update *revision.Revision, only string) Step {
	ended := mark(MarkCurrent, "end abort", update, "another hub rolled out the template whose rollout was aborted", func(r *revision.Record) {
		r.Abort, r.AtOnce, r.CurrentSince = nil, false, c.History.NextCurrentSince(c.Now)
		if only != "" {
			r.RecordedOn = only
		}
	})
	ended.Event = &Event{
		Reason: workv1alpha1.EventAbortEnded, Action: "Observe",
		Note: fmt.Sprintf("another hub rolled out revision %s, and every cluster succeeded with it: its abort has ended", update.Object.Name),
	}
	return ended
}

// recordPast records the revisions that the works show, and which of them was stable.
func (c *chain) recordPast(in *adoption.Input, past *adoption.History) *Step {
	recorded := past.Specs[:min(len(past.Specs), adoption.MaxSpecs)]
	if read := c.readSpecs(recorded); read.next != nil || read.failed != nil {
		return c.afterAdoption(read)
	}
	var stable revision.Digest
	if past.Surpassed || (c.Revisions.CurrentRevision == "" && (in.FirstSight || past.Replaced)) {
		stable = past.Stable(c.Now)
	}
	if done := c.record(recorded, stable, in.FirstSight); done != (batch{}) {
		return c.afterAdoption(done)
	}
	switch {
	case stable != "":
		return c.makeCurrent(c.History.ByDigest(stable), "the ManifestWorks show which revision was stable before")
	case past.Surpassed:
		return c.afterAdoption(c.forgetCurrent())
	}
	return nil
}

// afterAdoption returns the step that follows the requests of an adoption, depending on their outcome.
func (c *chain) afterAdoption(done batch) *Step {
	switch {
	case done.next != nil:
		return done.next
	case done.wrote && done.failed != nil:
		return c.failed(done.failed)
	case done.failed != nil:
		// As long as the template has no revision, the next pass knows that the adoption is not complete.
		return c.unrecorded(done.failed)
	case done.wrote:
		return c.written("what another hub rolled out is recorded")
	}
	return nil
}

// readSpecs fills in the content of the specs, each from the first work that has it.
func (c *chain) readSpecs(specs []adoption.Spec) batch {
	for i := range specs {
		template, read := c.specOf(specs[i].SampleWork())
		if read.next != nil || read.failed != nil {
			return read
		}
		specs[i].Template = template
	}
	return batch{}
}

// firstSight reports whether this hub never rolled the object out: nothing in the status, and no revision that was made from a template. A
// process that was killed during an adoption has recorded only some of the specs.
func (c *chain) firstSight() bool {
	return c.Object.Status.UpdateRevision == "" && !slices.ContainsFunc(c.History.Revisions, func(rev revision.Revision) bool {
		return rev.Recorded.IsZero() || !rev.Reused.IsZero()
	})
}

func (c *chain) pastInput(update *revision.Revision) *adoption.Input {
	in := &adoption.Input{
		Owner: c.Object, Refs: c.Refs, IgnoredRefs: c.IgnoredRefs, Works: c.Works, Template: c.Template, FirstSight: c.firstSight(),
	}
	// An abort of the template's revision is carried out, whichever hub has written the works since.
	resumes := c.Revisions.AbortedTime != nil && update != nil && update.Hash == c.Revisions.UpdateRevision
	if c.Revisions.CurrentRevision != "" && !resumes {
		in.Current = c.Named(c.Revisions.CurrentRevision)
	}
	return in
}

// record makes revisions of specs that have none. Their numbers are lower than that of any revision that was made from a template, so
// that they are pruned before those.
func (c *chain) record(specs []adoption.Spec, stable revision.Digest, firstSight bool) (all batch) {
	number, next := c.History.LowerNumber(), int64(-1)
	if firstSight {
		// The revision of the template comes after them. Among them, the spec on the most clusters comes last.
		number, next = c.History.NextNumber(), 1
		slices.Reverse(specs)
	}
	for i := range specs {
		if c.History.ByDigest(specs[i].Digest) != nil {
			continue
		}
		if all.add(c.recordSpec(&specs[i], specs[i].Digest == stable, number)); all.failed != nil || all.next != nil {
			return all
		}
		number = max(0, number+next)
	}
	return all
}

// recordSpec creates the revision of one spec. If another object has its name, the conditions report that when the revision is needed.
func (c *chain) recordSpec(spec *adoption.Spec, stable bool, number int64) batch {
	hash := revision.ComputeHash(spec.Template, c.Revisions.CollisionCount)
	wanted, err := revision.New(c.Object, spec.Template, hash, number)
	if err != nil {
		return batch{failed: &Answer{Key: "record", Result: Failed, Err: err}}
	}
	err = revision.Amend(wanted, func(r *revision.Record) {
		r.Recorded = c.Now
		if stable {
			r.CurrentSince, r.RecordedOn = c.History.NextCurrentSince(c.Now), spec.OnlyOn()
		}
	})
	if err != nil {
		return batch{failed: &Answer{Key: "record", Result: Failed, Err: err}}
	}
	answer, next := c.do(Step{
		Action: Record, Key: "record " + wanted.Name, Verb: "creating", Revision: wanted, Why: "another hub rolled out revision " + wanted.Name,
		Event: &Event{Reason: workv1alpha1.EventRevisionRecorded, Action: "Record", Note: "another hub rolled out this template: recorded as revision " + wanted.Name},
	})
	switch {
	case next != nil:
		return batch{next: next}
	case answer.Result == Exists:
		return c.reclaim(hash)
	case answer.Result != Done:
		return batch{failed: answer}
	}
	return batch{wrote: true}
}

// specOf reads the spec of a work.
func (c *chain) specOf(w *work.Work) (*workv1.ManifestWorkSpec, batch) {
	name := w.Cluster() + "/" + w.Object.Name
	answer, next := c.do(Step{
		Action: ReadSpec, Key: "spec " + name, Work: w.Object, Digest: w.Digest, Why: "ManifestWork " + name + " may hold what another hub rolled out",
	})
	switch {
	case next != nil:
		return nil, batch{next: next}
	case answer.Result != Done:
		return nil, batch{failed: answer}
	}
	return answer.Spec, batch{}
}

// batch is the outcome of several requests. next is set if another request comes first, or if the pass ends.
type batch struct {
	wrote  bool
	failed *Answer
	next   *Step
}

// add adds the outcome of one more request.
func (b *batch) add(one batch) {
	b.wrote = b.wrote || one.wrote
	b.failed, b.next = one.failed, one.next
}

// makeCurrent makes a revision the current one: on the revision first.
func (c *chain) makeCurrent(found *revision.Revision, why string) *Step {
	if found == nil {
		return nil // Another object has its name.
	}
	if latest := c.History.LatestCurrent(); latest == nil || latest.Hash != found.Hash {
		return c.write(mark(MarkCurrent, "current", found, why, c.becomesCurrent), c.failed)
	}
	c.Revisions.CurrentRevision = found.Hash
	return nil
}

// becomesCurrent records that a revision becomes the current one now.
func (c *chain) becomesCurrent(r *revision.Record) {
	r.CurrentSince = c.History.NextCurrentSince(c.Now)
}

// forgetCurrent removes the marks of the current and the former current revisions, so that none is current. The current revision comes
// last: until then, a restarted process finds the state unchanged. No former current revision may replace it.
func (c *chain) forgetCurrent() (all batch) {
	for _, former := range c.History.FormerCurrents() {
		why := "another hub rolled out past revision " + former.Object.Name
		answer, next := c.do(mark(Unmark, "forget", former, why, func(r *revision.Record) {
			r.CurrentSince = time.Time{}
			if former.Hash == c.Revisions.CurrentRevision {
				r.Surpassed = c.Now
			}
		}))
		switch {
		case next != nil:
			all.next = next
			return all
		case answer.Result != Done:
			all.failed = answer
			return all
		}
		all.wrote = true
	}
	if !all.wrote {
		c.Unstable, c.Revisions.CurrentRevision = c.Revisions.CurrentRevision, ""
	}
	return all
}
