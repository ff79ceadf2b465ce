package memory

import (
	"k8s.io/utils/lru"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/handover"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

const (
	// combinationsKept is the maximum number of remembered pairs of revisions. It covers the rollouts in progress.
	combinationsKept = 256
	// largeCombinationsKept is the maximum number of remembered pairs with a large combined spec.
	largeCombinationsKept = 32
	// largeCombination is the size in bytes of manifests above which a combined spec is large.
	largeCombination = 128 << 10
)

// Combinations remembers the combined specs of works that change from one revision to another. A rollout needs the same
// specs for each cluster.
type Combinations struct {
	known, large *lru.Cache
	limits       handover.Limits
}

// NewCombinations returns empty Combinations.
func NewCombinations(limits handover.Limits) *Combinations {
	return &Combinations{known: lru.New(combinationsKept), large: lru.New(largeCombinationsKept), limits: limits}
}

type combination struct{ to, from revision.Digest }

// CombinationOf combines two revisions. If they can't be combined, no dropped object is kept, and the result gives the
// reason.
func (c *Combinations) CombinationOf(to, from *work.Revision) handover.Result {
	key := combination{to: to.Digest, from: from.Digest}
	for _, cache := range []*lru.Cache{c.known, c.large} {
		if known, ok := cache.Get(key); ok {
			return known.(handover.Result)
		}
	}
	result, err := handover.Combine(to.Template, from.Template, c.limits)
	if err != nil {
		result = handover.Result{NotKept: []string{"the revisions can't be combined: " + err.Error()}}
	}
	if ManifestBytes(to.Template)+ManifestBytes(from.Template) > largeCombination {
		c.large.Add(key, result)
	} else {
		c.known.Add(key, result)
	}
	return result
}

// ManifestBytes returns the size of the manifests in a template, in bytes.
func ManifestBytes(template *workv1.ManifestWorkSpec) int {
	n := 0
	for i := range template.Workload.Manifests {
		n += len(template.Workload.Manifests[i].Raw)
	}
	return n
}
