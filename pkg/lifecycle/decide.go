package lifecycle

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// Decide returns the decision for one pass. Each part sees the results of the previous parts: the commands, the revision of the template,
// the beginning of its rollout, the plan, and the results of the plan. If the decision has a Request, the caller performs it, adds the
// answer to the Observation, and calls Decide again.
func Decide(o *Observation) Decision {
	c := &chain{Observation: o, Decision: Obey(o)}
	if c.findUpdate(); c.Update != nil {
		c.begin()
		c.judge()
	}
	c.number()
	return c.Decision
}

// chain is one run of Decide, with the decision so far.
type chain struct {
	*Observation
	Decision
}

// number gives a changed ledger its number. It decides nothing about an object that was never rolled out and whose spec is invalid.
func (c *chain) number() {
	if c.Before.Seq > 0 || c.End == "" || c.End == Decided {
		c.Ledger.Follow(&c.Before, c.Object.UID)
	}
}

// findUpdate finds the revision to roll out: the first link that returns false decides. It sets Update, Request or End.
func (c *chain) findUpdate() {
	for _, goesOn := range c.links() {
		if !goesOn(c) {
			return
		}
	}
}

// links returns the links in the order in which they decide. A link returns true if the next link decides.
func (c *chain) links() []func(*chain) bool {
	if c.NoHistory {
		return []func(*chain) bool{
			(*chain).unreadableSpec, (*chain).longOwnerLabel, (*chain).invalidTemplate, (*chain).pausedTemplate, (*chain).templateOnWorks,
		}
	}
	return []func(*chain) bool{
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

// ask returns the answer to a request. It returns nil if the request must be made first, or if the object has changed, which ends the
// pass.
func (c *chain) ask(request Request) *Answer {
	for i := range c.Answers {
		switch answer := &c.Answers[i]; {
		case answer.Key != request.Key:
		case answer.Result == Conflicted:
			c.fail(answer)
			return nil
		default:
			return answer
		}
	}
	c.Request = &request
	return nil
}

// end ends the pass.
func (c *chain) end(reason Reason) bool {
	c.End = reason
	return false
}

// fail ends the pass after a failed request, which will be retried.
func (c *chain) fail(answer *Answer) bool {
	c.Failed = answer
	return c.end(Refused)
}

// write ends the pass with a write. If the write fails, otherwise decides how the pass continues.
func (c *chain) write(request Request, otherwise func(failed *Answer) bool) bool {
	switch answer := c.ask(request); {
	case answer == nil:
		return false
	case answer.Result != Done:
		return otherwise(answer)
	}
	return c.end(Written)
}

// invalid ends the pass, and reports a problem with the spec.
func (c *chain) invalid(problem Problem) bool {
	c.Problem = problem
	return c.end(InvalidSpec)
}

// unrecorded continues although the revision of the template could not be written. A new hash would start another rollout.
func (c *chain) unrecorded(failed *Answer) bool {
	c.Pending = true
	return c.withoutRevision(Problem{Failed: failed, Text: "; until then nothing new is rolled out"})
}

// withoutRevision continues although the template in the spec has no revision, because no agent could apply the template or the API server
// rejects the revision. Such a template can't be rolled out. No cluster is started, because the status no longer names the template. An
// abort in progress is finished. If the previous rollout fails, it is aborted, because no newer rollout replaces it yet.
func (c *chain) withoutRevision(problem Problem) bool {
	aborted := c.Ledger.Abort != nil
	if !aborted && (c.NoHistory || c.Ledger.Update.Hash == "") {
		return c.invalid(problem)
	}
	c.Problems = append(c.Problems, problem)
	c.Update = c.Named(c.Ledger.Update.Hash)
	c.TemplateHeld = !aborted
	return false
}

// Named finds a revision by its hash. It also returns a deleted or unreadable revision: with the content of the template in the spec if
// that template is rolled out, and otherwise with a digest that no work has.
func (v *Observation) Named(hash string) *work.Revision {
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
func (v *Observation) ofTemplate(hash string) *work.Revision {
	template := &v.Object.Spec.ManifestWorkTemplate
	return &work.Revision{
		Name: revision.Name(v.Object.Name, hash), Hash: hash, Digest: v.Template, Template: template,
		ReportsDegraded: revision.ReportsDegraded(template),
	}
}

// revisionOf finds a revision by its hash; nil if there is no such revision, or no history.
func (v *Observation) revisionOf(hash string) *revision.Revision {
	if v.NoHistory {
		return nil
	}
	return v.History.ByHash(hash)
}

// longOwnerLabel reports an owner label that no ManifestWork can have.
func (c *chain) longOwnerLabel() bool {
	if c.canLabel() {
		return true
	}
	return c.end(InvalidOwnerLabel)
}

// canLabel reports whether the owner's works can have a label by which they are found.
func (v *Observation) canLabel() bool {
	return v.OwnerHash || len(v.Owner) <= workv1alpha1.MaxOwnerLabelLength
}

// unreadableSpec reports a spec that can't be read. Nothing is written, except for an abort in progress, which needs only the Placements
// from the spec, and no strategy.
func (c *chain) unreadableSpec() bool {
	if c.Unreadable == nil {
		return true
	}
	problem := Problem{Text: fmt.Sprintf("the object can't be read: %v; correct the field, for example write durations as 90s, 5m or 2h", c.Unreadable)}
	// If placementRefs can't be read, every cluster would seem to be unselected.
	known := c.PlacementsKnown && !c.NoHistory && c.canLabel()
	if c.Ledger.Abort != nil && known {
		return c.withoutRevision(problem)
	}
	return c.invalid(problem)
}

// patch returns a request that changes a revision if it has not changed since this process saw it.
func patch(action Action, key string, object *appsv1.ControllerRevision, change Patch) Request {
	return Request{Action: action, Key: key + " " + object.Name, Revision: object, Patch: change}
}
