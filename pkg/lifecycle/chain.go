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
	Decision
}

// link decides about one thing. It returns nil where the next one decides.
type link func(*chain) *Step

// Next obeys users, and returns what has to be done next about the revision of today's template. Proceed and Hold are the last steps of a pass.
func Next(v *View) Step {
	c := &chain{View: v, Decision: Obey(v)}
	for _, decide := range c.links() {
		if step := decide(c); step != nil {
			return *step
		}
	}
	return *c.proceed("the template has the newest revision")
}

// links returns the links in the order in which they decide.
func (v *View) links() []link {
	if v.NoHistory {
		return []link{
			(*chain).unreadableSpec, (*chain).longOwnerLabel, (*chain).invalidTemplate, (*chain).pausedTemplate, (*chain).templateOnWorks,
		}
	}
	return []link{
		(*chain).unreadableSpec,
		(*chain).longOwnerLabel,
		(*chain).unusable,
		(*chain).unlabelled,
		(*chain).endAbort,
		(*chain).adopt,
		(*chain).invalidTemplate,
		(*chain).pausedTemplate,
		(*chain).newTemplate,
		(*chain).undo,
	}
}

func (c *chain) proceed(why string) *Step {
	return &Step{Action: Proceed, Why: why, Decision: c.Decision}
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
	request.Decision = c.Decision
	return nil, &request
}

// written ends the pass after a write.
func (c *chain) written(why string) *Step {
	return &Step{Action: Hold, Reason: Written, Why: why, Decision: c.Decision}
}

// failed ends the pass after a request that failed, and is made again.
func (c *chain) failed(answer *Answer) *Step {
	return &Step{Action: Hold, Reason: Refused, Why: answer.Key, Failed: answer, Decision: c.Decision}
}

// write ends the pass with a write. If the write fails, otherwise decides how the pass continues.
func (c *chain) write(request Step, otherwise func(failed *Answer) *Step) *Step {
	answer, next := c.do(request)
	switch {
	case next != nil:
		return next
	case answer.Result != Done:
		return otherwise(answer)
	}
	return c.written(request.Why)
}

// invalid ends the pass, and reports a problem of the spec.
func (c *chain) invalid(problem Problem) *Step {
	return &Step{Action: Hold, Reason: InvalidSpec, Why: "the spec can't be rolled out", Problem: problem, Decision: c.Decision}
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
	aborted := c.Ledger.Abort != nil
	if !aborted && (c.NoHistory || c.Ledger.Update.Hash == "") {
		return c.invalid(problem)
	}
	c.Problems = append(c.Problems, problem)
	c.Update = c.Named(c.Ledger.Update.Hash)
	c.TemplateHeld = !aborted
	return c.proceed("the template has no revision, and the rollout before it goes on")
}

// Named finds a revision by its hash. One that is gone or unreadable is still named: if it is today's template that is rolled out, the
// template tells what it holds. Otherwise, no work is at it.
func (v *View) Named(hash string) *work.Revision {
	found := v.revisionOf(hash)
	switch {
	case found != nil && found.Err == nil:
		return work.NewRevision(found)
	case hash == v.Before.Update.Hash && v.Before.Update.Digest == v.Template && v.Template != "":
		return v.ofTemplate(hash)
	}
	return &work.Revision{Name: revision.Name(v.Object.Name, hash), Hash: hash, Digest: "gone"}
}

// ofTemplate returns today's template as a revision with a hash, whether or not a ControllerRevision holds it.
func (v *View) ofTemplate(hash string) *work.Revision {
	template := &v.Object.Spec.ManifestWorkTemplate
	return &work.Revision{
		Name: revision.Name(v.Object.Name, hash), Hash: hash, Digest: v.Template, Template: template,
		ReportsDegraded: revision.ReportsDegraded(template),
	}
}

// revisionOf finds a revision by its hash; nil where there is none, or no history.
func (v *View) revisionOf(hash string) *revision.Revision {
	if v.NoHistory {
		return nil
	}
	return v.History.ByHash(hash)
}

// longOwnerLabel reports an owner label that no ManifestWork can have.
func (c *chain) longOwnerLabel() *Step {
	if len(c.Owner) <= workv1alpha1.MaxOwnerLabelLength {
		return nil
	}
	return &Step{Action: Hold, Reason: InvalidOwnerLabel, Why: "no ManifestWork can have the owner label", Decision: c.Decision}
}

// unreadableSpec reports a spec that can't be read. Nothing is written, but for an abort that is under way: what it needs of the spec is which
// Placements select clusters, and no strategy.
func (c *chain) unreadableSpec() *Step {
	if c.Unreadable == nil {
		return nil
	}
	problem := Problem{Text: fmt.Sprintf("the object can't be read: %v; correct the field, for example write durations as 90s, 5m or 2h", c.Unreadable)}
	// Where placementRefs can't be read, every cluster would seem to be one that nothing selects.
	known := c.PlacementsKnown && !c.NoHistory && len(c.Owner) <= workv1alpha1.MaxOwnerLabelLength
	if c.Ledger.Abort != nil && known {
		return c.withoutRevision(problem)
	}
	return c.invalid(problem)
}

// patch is a step that changes a revision, as it was seen.
func patch(action Action, key string, object *appsv1.ControllerRevision, change Patch, why string) Step {
	return Step{Action: action, Key: key + " " + object.Name, Verb: "patching", Revision: object, Patch: change, Why: why}
}
