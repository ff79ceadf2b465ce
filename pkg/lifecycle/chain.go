package lifecycle

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// chain is one run of the links over a view, with the decision so far.
type chain struct {
	*View
	Decision
}

// link makes one kind of decision. It returns nil if the next link decides.
type link func(*chain) *Step

// Next obeys commands, and returns the next step for the revision of the template in the spec. The last step of a pass is Proceed or Hold.
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

// do returns the answer to a request, or the next step: the request itself, or the end of the pass if the object has changed.
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

// failed ends the pass after a failed request, which is then retried.
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

// invalid ends the pass, and reports a problem with the spec.
func (c *chain) invalid(problem Problem) *Step {
	return &Step{Action: Hold, Reason: InvalidSpec, Why: "the spec can't be rolled out", Problem: problem, Decision: c.Decision}
}

// unrecorded continues although the revision of the template could not be written. Under a new hash, it would be another rollout.
func (c *chain) unrecorded(failed *Answer) *Step {
	c.Pending = true
	return c.withoutRevision(Problem{Failed: failed, Text: "; until then nothing new is rolled out"})
}

// withoutRevision continues although the template in the spec has no revision, because no agent could apply the template or the API server
// rejects the revision. Such a template can't be rolled out. No cluster is started, because the status no longer names the template. An
// abort in progress is finished. A previous rollout that fails is aborted, because no newer rollout replaces it yet.
func (c *chain) withoutRevision(problem Problem) *Step {
	aborted := c.Ledger.Abort != nil
	if !aborted && (c.NoHistory || c.Ledger.Update.Hash == "") {
		return c.invalid(problem)
	}
	c.Problems = append(c.Problems, problem)
	c.Update = c.Named(c.Ledger.Update.Hash)
	c.TemplateHeld = !aborted
	return c.proceed("the template has no revision, and the previous rollout continues")
}

// Named finds a revision by its hash. It also returns a revision that was deleted or is unreadable: with the content of the template in the
// spec if that template is rolled out, and otherwise with a digest that no work has.
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

// ofTemplate returns the template in the spec as a revision with a hash, whether or not a ControllerRevision holds it.
func (v *View) ofTemplate(hash string) *work.Revision {
	template := &v.Object.Spec.ManifestWorkTemplate
	return &work.Revision{
		Name: revision.Name(v.Object.Name, hash), Hash: hash, Digest: v.Template, Template: template,
		ReportsDegraded: revision.ReportsDegraded(template),
	}
}

// revisionOf finds a revision by its hash; nil if there is none, or no history.
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

// unreadableSpec reports a spec that can't be read. Nothing is written, except for an abort in progress: from the spec, it needs only the
// Placements, and no strategy.
func (c *chain) unreadableSpec() *Step {
	if c.Unreadable == nil {
		return nil
	}
	problem := Problem{Text: fmt.Sprintf("the object can't be read: %v; correct the field, for example write durations as 90s, 5m or 2h", c.Unreadable)}
	// If placementRefs can't be read, every cluster would seem to be unselected.
	known := c.PlacementsKnown && !c.NoHistory && len(c.Owner) <= workv1alpha1.MaxOwnerLabelLength
	if c.Ledger.Abort != nil && known {
		return c.withoutRevision(problem)
	}
	return c.invalid(problem)
}

// patch returns a step that changes a revision, if it has not changed since it was seen.
func patch(action Action, key string, object *appsv1.ControllerRevision, change Patch, why string) Step {
	return Step{Action: action, Key: key + " " + object.Name, Verb: "patching", Revision: object, Patch: change, Why: why}
}
