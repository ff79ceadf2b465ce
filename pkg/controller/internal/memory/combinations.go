package memory

import (
	"k8s.io/utils/lru"

	"github.com/open-cluster-management-io/work-rollback/pkg/handover"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// combinationsKept bounds how many pairs of revisions are remembered: those of rollouts under way.
const combinationsKept = 256

// Combinations remembers what works hold on the way from one revision to another: a rollout asks for the same for each cluster (R29).
type Combinations struct{ known *lru.Cache }

// NewCombinations returns one that knows nothing.
func NewCombinations() *Combinations { return &Combinations{known: lru.New(combinationsKept)} }

type combination struct{ to, from revision.Digest }

// Of combines two revisions. Where they can't be combined nothing is kept, and the result says why.
func (c *Combinations) Of(to, from *rollout.Revision) handover.Result {
	key := combination{to: to.Digest, from: from.Digest}
	if known, ok := c.known.Get(key); ok {
		return known.(handover.Result)
	}
	result, err := handover.Combine(to.Template, from.Template)
	if err != nil {
		result = handover.Result{NotKept: []string{"the revisions can't be combined: " + err.Error()}}
	}
	c.known.Add(key, result)
	return result
}
