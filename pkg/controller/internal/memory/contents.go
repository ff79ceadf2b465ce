package memory

import (
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/handover"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// Contents remembers the decoded revisions and the digests of templates, and parses each once. The data of a ControllerRevision never
// changes, and a template changes only with the generation. Parsing does not hold mu, so a tenant's large template delays only passes that
// need the same one.
type Contents struct {
	mu        sync.Mutex
	revisions map[types.UID]func() revision.Revision
	templates map[types.UID]templateContent
}

type templateContent struct {
	generation int64
	digest     func() (revision.Digest, error)
}

// NewContents returns empty Contents.
func NewContents() *Contents {
	return &Contents{revisions: map[types.UID]func() revision.Revision{}, templates: map[types.UID]templateContent{}}
}

// Forget drops the state of an object that is gone.
func (c *Contents) Forget(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.revisions, uid)
	delete(c.templates, uid)
}

// Revision returns a decoded ControllerRevision with its current labels and record.
func (c *Contents) Revision(object *appsv1.ControllerRevision) revision.Revision {
	found := c.decoder(object)()
	found.Object, found.Hash, found.Record = object, object.Labels[workv1alpha1.LabelControllerHash], revision.RecordOf(object)
	return found
}

// decoder returns a function that decodes a ControllerRevision once.
func (c *Contents) decoder(object *appsv1.ControllerRevision) func() revision.Revision {
	c.mu.Lock()
	defer c.mu.Unlock()
	decode, known := c.revisions[object.UID]
	if !known {
		decode = sync.OnceValue(func() revision.Revision { return revision.Decode(object) })
		c.revisions[object.UID] = decode
	}
	return decode
}

// Template returns the digest of an object's template, or an error if it has none.
func (c *Contents) Template(object *workv1alpha1.ManifestWorkReplicaSet) (revision.Digest, error) {
	return c.digester(object)()
}

// digester returns a function that computes the digest of a template once.
func (c *Contents) digester(object *workv1alpha1.ManifestWorkReplicaSet) func() (revision.Digest, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, ok := c.templates[object.UID]
	if !ok || known.generation != object.Generation {
		known = templateContent{generation: object.Generation, digest: sync.OnceValues(func() (revision.Digest, error) {
			return revision.DigestOf(&object.Spec.ManifestWorkTemplate)
		})}
		c.templates[object.UID] = known
	}
	return known.digest
}

const (
	// combinationsKept is the maximum number of remembered pairs of revisions: those of rollouts in progress.
	combinationsKept = 256
	// largeCombinationsKept is the maximum number of remembered pairs with a large combined spec.
	largeCombinationsKept = 32
	// largeCombination is the size in bytes of manifests above which a combined spec is large.
	largeCombination = 128 << 10
)

// Combinations remembers the combined specs of works that change from one revision to another. A rollout needs the same ones for each
// cluster.
type Combinations struct {
	known, large *lru.Cache
	limits       handover.Limits
}

// NewCombinations returns empty Combinations.
func NewCombinations(limits handover.Limits) *Combinations {
	return &Combinations{known: lru.New(combinationsKept), large: lru.New(largeCombinationsKept), limits: limits}
}

type combination struct{ to, from revision.Digest }

// Of combines two revisions. If they can't be combined, nothing is kept, and the result says why.
func (c *Combinations) Of(to, from *work.Revision) handover.Result {
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

// ManifestBytes returns the size of the manifests of a template, in bytes.
func ManifestBytes(template *workv1.ManifestWorkSpec) int {
	n := 0
	for i := range template.Workload.Manifests {
		n += len(template.Workload.Manifests[i].Raw)
	}
	return n
}
