package lifecycle

import (
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// paused keeps the update revision while spec.paused is true. A template that is edited during the pause becomes a revision after it:
// several edits lead to one rollout, and an edit that is reverted leads to none. An object that is seen for the first time gets its first
// revision.
func (c *chain) paused() *Step {
	if !c.Object.Spec.Paused || !c.mode().waits(c) {
		return nil
	}
	c.Update, c.TemplatePending = c.mode().paused(c)
	return c.proceed("spec.paused is true, and the template waits")
}

// waits reports whether something would have to be written for today's template. What another hub left is recorded before the template has its
// first revision.
func (r recorded) waits(c *chain) bool {
	found := r.History.ByDigest(r.Template)
	isNewest := found != nil && found.Hash == c.Revisions.UpdateRevision && found.Object == r.History.Newest().Object
	return !isNewest && !c.firstSight()
}

// paused returns the update revision. It differs from the template unless a rollout of another one was about to begin before the pause.
func (r recorded) paused(c *chain) (update *work.Revision, pending bool) {
	found := r.History.ByDigest(r.Template)
	return r.Named(c.Revisions.UpdateRevision), found == nil || found.Hash != c.Revisions.UpdateRevision
}

// waits goes by what this process rolled out, or else by the hash that the template has or would get.
func (u unrecorded) waits(c *chain) bool {
	update := c.Revisions.UpdateRevision
	if digest, known := u.Memory.Unrecorded[update]; known {
		return digest != u.Template
	}
	hash, known := c.unrecordedHash()
	return update != "" && (!known || hash != update)
}

// paused returns the update revision as it could be read last. One that never could is named, and no work counts as having it.
func (u unrecorded) paused(c *chain) (update *work.Revision, pending bool) {
	if found := u.History.ByHash(c.Revisions.UpdateRevision); found != nil && found.Err == nil {
		return work.NewRevision(found), true
	}
	return u.Named(c.Revisions.UpdateRevision), true
}
