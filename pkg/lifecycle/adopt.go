package lifecycle

import (
	"fmt"
	"slices"

	"github.com/open-cluster-management-io/work-rollback/pkg/adoption"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/ledger"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// adopt records the templates that another hub rolled out before this hub knew the object, or while the other hub ran in place of this
// hub. Every spec of the works becomes a revision before the template in the spec does. So while the template has no revision, a restarted
// process knows that the adoption is not complete. The current revision is decided before the first work gets a hash, because a hash hides
// which hub wrote the work.
func (c *chain) adopt() bool {
	unlabelled := func(w work.Work) bool { return w.Hash() == "" }
	if c.TemplateErr != nil || !slices.ContainsFunc(c.Notes.Works, unlabelled) {
		return true
	}
	update := c.History.ByDigest(c.Template)
	in := c.pastInput(update)
	past := adoption.ReadHistory(in)
	if update != nil && !past.Surpassed {
		return true
	}
	return c.recordPast(in, &past)
}

// endAbort ends an abort of the template's rollout if another hub has rolled out the template since, and every cluster succeeded with it.
// The revision is then the stable one.
func (c *chain) endAbort() bool {
	update := c.History.ByDigest(c.Template)
	if c.TemplateErr != nil || update == nil || update.Hash != c.Ledger.Update.Hash || c.Ledger.Abort == nil {
		return true
	}
	everywhere, succeeded, only := c.pastInput(update).RolledOut(c.withBeginning(&c.Ledger, work.NewRevision(update)), c.Now)
	if !everywhere || !succeeded {
		return true
	}
	c.Ledger.Abort = nil
	c.Ledger.End(c.Now)
	c.Ledger.OnlyOn = only
	c.Events = append(c.Events, Event{
		Reason: workv1alpha1.EventAbortEnded, Action: "Observe",
		Note: fmt.Sprintf("another hub rolled out revision %s, and every cluster succeeded with it: its abort has ended", update.Object.Name),
	})
	return c.end(Decided)
}

// recordPast records the specs of the works as revisions, and which of them was stable.
func (c *chain) recordPast(in *adoption.Input, past *adoption.History) bool {
	recorded := past.Specs[:min(len(past.Specs), adoption.MaxSpecs)]
	if read := c.readSpecs(recorded); read != (batch{}) {
		return c.afterAdoption(read)
	}
	var stable revision.Digest
	if past.Surpassed || (c.Ledger.Current.Hash == "" && (in.FirstSight || past.Replaced)) {
		stable = past.Stable(c.Now)
	}
	if done := c.record(recorded); done != (batch{}) {
		return c.afterAdoption(done)
	}
	switch found := c.History.ByDigest(stable); {
	case stable != "" && found != nil: // If it is not found, another object has its name.
		c.Ledger.MakeCurrent(ledger.Named{Hash: found.Hash, Digest: found.Digest}, past.Specs[0].OnlyOn())
		return c.end(Decided)
	case past.Surpassed:
		c.Ledger.ForgetCurrent()
		return c.end(Decided)
	}
	return true
}

// afterAdoption continues after the requests of an adoption, depending on their outcome.
func (c *chain) afterAdoption(done batch) bool {
	switch {
	case done.over:
		return false
	case done.wrote && done.failed != nil:
		return c.fail(done.failed)
	case done.failed != nil:
		// While the template has no revision, the next pass knows that the adoption is not complete.
		return c.unrecorded(done.failed)
	}
	return c.end(Written)
}

// readSpecs fills in the content of each spec from the first work that has it.
func (c *chain) readSpecs(specs []adoption.Spec) batch {
	for i := range specs {
		switch read := c.specOf(specs[i].SampleWork()); {
		case read == nil:
			return batch{over: true}
		case read.Result != Done:
			return batch{failed: read}
		default:
			specs[i].Template = read.Spec
		}
	}
	return batch{}
}

// firstSight reports whether this hub has never begun a rollout of the object, according to the ledger.
func (v *Observation) firstSight() bool { return v.Before.Update.Hash == "" }

func (c *chain) pastInput(update *revision.Revision) *adoption.Input {
	in := &adoption.Input{
		Owner: c.Object, Refs: c.Refs, IgnoredRefs: c.IgnoredRefs, Works: c.Notes.Works, Template: c.Template, FirstSight: c.firstSight(),
	}
	// An abort of the template's revision continues, regardless of which hub has written the works since.
	resumes := c.Ledger.Abort != nil && update != nil && update.Hash == c.Ledger.Update.Hash
	if c.Ledger.Current.Hash != "" && !resumes {
		in.Current = c.Named(c.Ledger.Current.Hash)
	}
	return in
}

// record creates revisions for specs that have none. Their numbers are lower than the number of any revision that was made from a template,
// so that they are pruned first.
func (c *chain) record(specs []adoption.Spec) (all batch) {
	number, next := c.History.LowerNumber(), int64(-1)
	if c.firstSight() {
		// The revision of the template comes after these. Among these, the spec on the most clusters comes last.
		number, next = c.History.NextNumber(), 1
		slices.Reverse(specs)
	}
	for i := range specs {
		if c.History.ByDigest(specs[i].Digest) != nil {
			continue
		}
		if all.add(c.recordSpec(&specs[i], number)); all.failed != nil || all.over {
			return all
		}
		number = max(0, number+next)
	}
	return all
}

// recordSpec creates the revision of one spec. If another object has its name, the conditions report that when the revision is needed.
func (c *chain) recordSpec(spec *adoption.Spec, number int64) batch {
	hash := revision.ComputeHash(spec.Template, c.collisions())
	wanted, err := revision.New(c.Object, spec.Template, hash, number)
	if err == nil {
		err = revision.Amend(wanted, func(r *revision.Record) { r.Recorded = c.Now })
	}
	if err != nil {
		return batch{failed: &Answer{Key: "record", Result: Failed, Err: err}}
	}
	answer := c.ask(Request{
		Action: Record, Key: "record " + wanted.Name, Revision: wanted,
		Event: &Event{Reason: workv1alpha1.EventRevisionRecorded, Action: "Record", Note: "another hub rolled out this template: recorded as revision " + wanted.Name},
	})
	switch {
	case answer == nil:
		return batch{over: true}
	case answer.Result == Exists:
		return c.reclaim(hash)
	case answer.Result != Done:
		return batch{failed: answer}
	}
	return batch{wrote: true}
}

func (c *chain) specOf(w *work.Work) *Answer {
	name := w.Cluster() + "/" + w.Object.Name
	return c.ask(Request{Action: ReadSpec, Key: "spec " + name, Work: w.Object, Digest: w.Digest})
}

// batch is the outcome of several requests. over is true if another request must come first, or if the pass has ended.
type batch struct {
	wrote  bool
	failed *Answer
	over   bool
}

// add adds the outcome of one more request.
func (b *batch) add(one batch) {
	b.wrote = b.wrote || one.wrote
	b.failed, b.over = one.failed, one.over
}
