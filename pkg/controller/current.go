package controller

import (
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// current is the stable revision, or why there is none.
func (p *pass) current() (*rollout.Revision, string) {
	current := p.facts.Current(p.revisions.CurrentRevision, p.update)
	if p.facts.NoHistory {
		return nil, p.noHistory
	}
	return current.Revision, current.Message
}

// revisionNamed finds a revision by its hash. One that is gone or unreadable is still named; no work is at it.
func (p *pass) revisionNamed(hash string) *rollout.Revision { return p.facts.Named(hash) }

// liveHashes are those that are never pruned (R5).
func (p *pass) liveHashes() sets.Set[string] { return p.facts.LiveHashes(&p.revisions) }
