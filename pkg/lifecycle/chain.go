package lifecycle

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// chain is one walk over a view, and what it decided so far.
type chain struct {
	*View
	Outcome
	// begins reports whether a rollout of another revision begins, and pruned whether the API server dropped what it was asked to persist.
	begins, pruned bool
}

// link decides about one thing. It returns nil where the next one decides.
type link func(*chain) *Step

// Next returns what has to be done next about the revision of today's template. Proceed and Hold are the last steps of a pass.
func Next(v *View) Step {
	c := &chain{View: v, Outcome: Outcome{Decision: Decision{Revisions: v.Status}}}
	return c.walk(append([]link{(*chain).unreadableSpec, (*chain).longOwnerLabel}, v.mode().links()...), "the template has the newest revision")
}

// walk asks one link after the other.
func (c *chain) walk(links []link, otherwise string) Step {
	for _, decide := range links {
		if step := decide(c); step != nil {
			return *step
		}
	}
	return *c.proceed(otherwise)
}

func (c *chain) proceed(why string) *Step {
	return &Step{Action: Proceed, Why: why, Outcome: c.Outcome}
}

// do returns the answer to a request, or the step that comes next: the request itself, or the end of the pass where the object has changed.
func (c *chain) do(request Step) (*Answer, *Step) {
	for i := range c.Answers {
		answer := &c.Answers[i]
		switch {
		case answer.Key != request.Key:
		case answer.Result == Conflicted:
			return nil, c.failed(answer)
		default:
			return answer, nil
		}
	}
	request.Outcome = c.Outcome
	return nil, &request
}

// written ends the pass after a write.
func (c *chain) written(why string) *Step {
	return &Step{Action: Hold, Reason: Written, Why: why, Outcome: c.Outcome}
}

// failed ends the pass after a request that failed, and is made again.
func (c *chain) failed(answer *Answer) *Step {
	return &Step{Action: Hold, Reason: Refused, Why: answer.Key, Failed: answer, Outcome: c.Outcome}
}

// write ends the pass with a write. If the write fails, otherwise decides how the pass continues.
func (c *chain) write(request Step, otherwise func(failed *Answer) *Step) *Step {
	answer, next := c.do(request)
	switch {
	case next != nil:
		return next
	case answer.failed():
		return otherwise(answer)
	}
	return c.written(request.Why)
}

// despite names a request that failed, and lets the next link decide.
func (c *chain) despite(failed *Answer) *Step {
	c.Problems = append(c.Problems, Problem{Failed: failed})
	return nil
}

// invalid ends the pass, and reports a problem of the spec.
func (c *chain) invalid(problem Problem) *Step {
	return &Step{Action: Hold, Reason: InvalidSpec, Why: "the spec can't be rolled out", Problem: problem, Outcome: c.Outcome}
}

// unrecorded goes on where the revision of today's template could not be written: under a new hash it would be another rollout.
func (c *chain) unrecorded(failed *Answer) *Step {
	c.Pending = true
	return c.withoutRevision(Problem{Failed: failed, Text: "; until then nothing new is rolled out"})
}

// withoutRevision goes on where today's template has no revision: no agent could apply it, or the API server refuses to record it. It
// can't be rolled out, and what the status names is not the template any more, so that nothing is started. But an abort that is under
// way is finished, and a rollout that was under way and fails is aborted: no newer one takes its place yet.
func (c *chain) withoutRevision(problem Problem) *Step {
	aborted := c.Revisions.AbortedTime != nil
	if !aborted && !c.mode().resumes(c.Revisions.UpdateRevision) {
		return c.invalid(problem)
	}
	c.Problems = append(c.Problems, problem)
	c.Update = c.Named(c.Revisions.UpdateRevision)
	c.TemplateHeld = !aborted
	return c.proceed("the template has no revision, and the rollout before it goes on")
}

// Named finds a revision by its hash. One that is gone or unreadable is still named; no work is at it.
func (v *View) Named(hash string) *work.Revision {
	if found := v.revisionOf(hash); found != nil && found.Err == nil {
		return work.NewRevision(found)
	}
	return &work.Revision{Name: revision.Name(v.Object.Name, hash), Hash: hash, Digest: "gone"}
}

// revisionOf finds a revision by its hash; nil where there is none, or no history.
func (v *View) revisionOf(hash string) *revision.Revision { return v.mode().history().ByHash(hash) }

// longOwnerLabel reports an owner label that no ManifestWork can have.
func (c *chain) longOwnerLabel() *Step {
	if len(c.Owner) <= workv1alpha1.MaxOwnerLabelLength {
		return nil
	}
	return &Step{Action: Hold, Reason: InvalidOwnerLabel, Why: "no ManifestWork can have the owner label", Outcome: c.Outcome}
}

// unreadableSpec reports a spec that can't be read. Nothing is written, but for an abort that is under way: what it needs of the spec is which
// Placements select clusters, and no strategy.
func (c *chain) unreadableSpec() *Step {
	if c.Unreadable == nil {
		return nil
	}
	problem := Problem{Text: fmt.Sprintf("the object can't be read: %v; correct the field, for example write durations as 90s, 5m or 2h", c.Unreadable)}
	before := c.Revisions
	c.lostStatus()
	// Where placementRefs can't be read, every cluster would seem to be one that nothing selects.
	known := c.PlacementsKnown && !c.NoHistory && len(c.Owner) <= workv1alpha1.MaxOwnerLabelLength
	if c.Revisions.AbortedTime != nil && known {
		return c.withoutRevision(problem)
	}
	c.Revisions = before
	return c.invalid(problem)
}

// patch is a step that changes a revision, as it was seen.
func patch(action Action, key string, object *appsv1.ControllerRevision, change Patch, why string) Step {
	return Step{Action: action, Key: key + " " + object.Name, Verb: "patching", Revision: object, Patch: change, Why: why}
}

// mark returns a step that changes the record of a revision, starting from the record that this pass saw.
func mark(action Action, key string, rev *revision.Revision, why string, change func(*revision.Record)) Step {
	return patch(action, key, rev.Object, Patch{Record: rev.Changed(change)}, why)
}
