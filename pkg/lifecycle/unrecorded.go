package lifecycle

import (
	"fmt"

	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// keptStatus takes over what this process remembers of a status that may not be able to hold it.
func (c *chain) keptStatus() *Step {
	c.AwaitsHistory = true
	if c.Revisions.UpdateRevision == "" {
		c.Revisions = c.Memory.Kept
	}
	return nil
}

// templateOnWorks makes a pass roll out as a hub without revisions would: the template has a revision that exists in memory and
// on the works only, under the name that it will have.
func (c *chain) templateOnWorks() *Step {
	hash, known := c.unrecordedHash()
	if !known {
		return c.withoutRevision(Problem{Text: fmt.Sprintf(
			"ControllerRevision %s can't be read, the hub cannot compare the template with the one whose rollout was aborted, and does not roll it out: "+
				"let the hub read ControllerRevisions again, or remove status.abortedTime to roll the template out",
			revision.Name(c.Object.Name, c.Revisions.UpdateRevision))})
	}
	// No revision can show that a rollout back to the current one is under way: until every cluster is there again there is none.
	if before := c.Revisions.UpdateRevision; before != "" && before != hash && c.Revisions.CurrentRevision == hash {
		c.Revisions.CurrentRevision = ""
	}
	c.RolledOut = RolledOut{Hash: hash, Digest: c.Template}
	c.Update = &work.Revision{
		Name: revision.Name(c.Object.Name, hash), Hash: hash, Digest: c.Template, Template: &c.Object.Spec.ManifestWorkTemplate,
	}
	return c.proceed("there is no history, and the works have the template's hash")
}

// unrecordedHash is the hash of today's template where no revision names it; false where it is not known whether it is the aborted one's. What this
// process rolled out keeps its hash.
func (c *chain) unrecordedHash() (hash string, known bool) {
	update := c.Revisions.UpdateRevision
	if digest, known := c.Memory.Unrecorded[update]; known && digest == c.Template {
		return update, true
	}
	if hash = c.hashOnWorks(); hash != "" {
		return hash, true
	}
	template := &c.Object.Spec.ManifestWorkTemplate
	if c.Revisions.AbortedTime != nil {
		aborted, known := c.isAborted()
		if !known {
			return "", false
		}
		if aborted {
			return update, true
		}
	}
	return revision.ComputeHash(template, c.Revisions.CollisionCount), true
}

// isAborted reports whether the template is the one whose rollout was aborted, and whether that is known. After an abort no work shows which hash
// it had, and the hash that this binary computes today may be another one: of another release, or after collisions.
func (c *chain) isAborted() (aborted, known bool) {
	if update := c.History.ByHash(c.Revisions.UpdateRevision); update != nil && update.Err == nil {
		return update.Digest == c.Template, true
	}
	aborted = revision.Names(c.Revisions.UpdateRevision, &c.Object.Spec.ManifestWorkTemplate, c.Revisions.CollisionCount)
	return aborted, aborted
}

// hashOnWorks is the hash of works that hold the template, the update revision's before any other: it stays what it is, whatever
// this binary would compute. Most of the works with the hash must hold the template: any agent can edit the work of its cluster.
func (c *chain) hashOnWorks() string {
	majority := make(map[string]int)
	for i := range c.Works {
		w := &c.Works[i]
		switch hash := w.Hash(); {
		case hash == "":
		case w.Digest == c.Template || w.AcceptedAs == c.Template && w.AcceptedAs != "":
			majority[hash]++
		case !w.InHandover(): // One that also has objects of another revision does not show which content the hash has.
			majority[hash]--
		}
	}
	found := ""
	for hash, votes := range majority {
		switch {
		case votes <= 0:
		case hash == c.Revisions.UpdateRevision:
			return hash
		case found == "" || hash < found:
			found = hash
		}
	}
	return found
}
