package lifecycle

import (
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// pausedTemplate keeps the update revision while spec.paused is true. A template that is edited during the pause becomes a revision after
// the pause: several edits lead to one rollout, and a reverted edit leads to none. A new object still gets its first revision.
func (c *chain) pausedTemplate() bool {
	if !c.Object.Spec.Paused || c.firstSight() || c.rollsOutTemplate() {
		return true
	}
	c.Update = c.updateOf()
	c.TemplatePending = c.Ledger.Update.Digest != c.Template
	return false
}

// rollsOutTemplate reports whether the template in the spec can be rolled out without a write of a revision.
func (v *Observation) rollsOutTemplate() bool {
	if v.NoHistory {
		return v.Before.Update.Digest == v.Template
	}
	found := v.History.ByDigest(v.Template)
	return found != nil && found.Hash == v.Before.Update.Hash && found.Object == v.History.Newest().Object
}

// updateOf returns the update revision of the ledger as it was last read. For a revision that could never be read, see Named.
func (v *Observation) updateOf() *work.Revision {
	hash := v.Before.Update.Hash
	if found := v.History.ByHash(hash); found != nil && found.Err == nil {
		return work.NewRevision(found)
	}
	return v.Named(hash)
}

// templateOnWorks makes a pass roll out as a hub without revisions does: the revision of the template exists only in the ledger and on the
// works, under the name that it gets later.
func (c *chain) templateOnWorks() bool {
	c.Update = c.ofTemplate(c.hashesOfTemplate()[0])
	return false
}

// hashOnWorks returns the hash of the works that hold the template, even if this binary would compute another one. It prefers the hash of
// the update revision. Most works with the hash must hold the template, because any agent can edit the work of its cluster.
func (v *Observation) hashOnWorks() string {
	majority := make(map[string]int)
	for i := range v.Notes.Works {
		w := &v.Notes.Works[i]
		switch hash := w.Hash(); {
		case hash == "":
		case w.Digest == v.Template || w.AcceptedAs == v.Template && w.AcceptedAs != "":
			majority[hash]++
		case !w.InHandover(): // A work in handover also has objects of another revision, so it does not show the template of its hash.
			majority[hash]--
		}
	}
	found := ""
	for hash, votes := range majority {
		switch {
		case votes <= 0:
		case hash == v.Before.Update.Hash:
			return hash
		case found == "" || hash < found:
			found = hash
		}
	}
	return found
}

// hasBegun reports whether this hub wrote the revision with this hash to any work that still has it.
func (v *Observation) hasBegun(hash string) bool {
	for i := range v.Notes.Works {
		if _, written := v.Notes.Works[i].AppliedAt(); written && v.Notes.Works[i].Hash() == hash {
			return true
		}
	}
	return false
}
