package memory

import (
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/handover"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// Contents remembers what revisions and templates mean, and parses each once: the data of a ControllerRevision never
// changes, a template only with the generation. What a tenant made large is parsed while mu is not held, and only those wait for it who ask
// for the same.
type Contents struct {
	mu        sync.Mutex
	revisions map[types.UID]*knownRevision
	templates map[types.UID]templateContent
}

// knownRevision is what decodes a ControllerRevision the first time that it is called, and when this process first saw the times that began
// a rollout of it.
type knownRevision struct {
	decode          func() revision.Revision
	reused, retried sighting
}

type templateContent struct {
	generation int64
	digest     func() (revision.Digest, error)
}

// NewContents returns one that knows nothing.
func NewContents() *Contents {
	return &Contents{revisions: map[types.UID]*knownRevision{}, templates: map[types.UID]templateContent{}}
}

// Forget drops what is known of an object that is gone.
func (c *Contents) Forget(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.revisions, uid)
	delete(c.templates, uid)
}

// Revision returns what a ControllerRevision means, with the labels that it has now. It notes when the times of its rollouts are seen
// first.
func (c *Contents) Revision(object *appsv1.ControllerRevision, now time.Time) revision.Revision {
	known := c.known(object)
	found := known.decode()
	found.Object, found.Hash = object, object.Labels[workv1alpha1.LabelControllerHash]
	reused, _ := found.ReusedAt()
	retried, _ := found.RetriedAt()
	c.mu.Lock()
	defer c.mu.Unlock()
	found.BeginSeen = known.reused.see(reused, now)
	if again := known.retried.see(retried, now); again.After(found.BeginSeen) {
		found.BeginSeen = again
	}
	return found
}

// known returns what is known of a ControllerRevision.
func (c *Contents) known(object *appsv1.ControllerRevision) *knownRevision {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, ok := c.revisions[object.UID]
	if !ok {
		known = &knownRevision{decode: sync.OnceValue(func() revision.Revision { return revision.Decode(object) })}
		c.revisions[object.UID] = known
	}
	return known
}

// Template returns the digest of an object's template; the error is why it has none.
func (c *Contents) Template(object *workv1alpha1.ManifestWorkReplicaSet) (revision.Digest, error) {
	return c.digester(object)()
}

// digester returns what digests a template the first time that it is called.
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
	// combinationsKept bounds how many pairs of revisions are remembered: those of rollouts under way.
	combinationsKept = 256
	// largeCombinationsKept bounds how many of them are remembered whose combined spec is large.
	largeCombinationsKept = 32
	// largeCombination is from how many bytes of manifests on a combined spec is large.
	largeCombination = 128 << 10
)

// Combinations remembers what works hold on the way from one revision to another: a rollout asks for the same for each cluster (R29).
type Combinations struct {
	known, large *lru.Cache
	limits       handover.Limits
}

// NewCombinations returns one that knows nothing.
func NewCombinations(limits handover.Limits) *Combinations {
	return &Combinations{known: lru.New(combinationsKept), large: lru.New(largeCombinationsKept), limits: limits}
}

type combination struct{ to, from revision.Digest }

// Of combines two revisions. Where they can't be combined nothing is kept, and the result says why.
func (c *Combinations) Of(to, from *rollout.Revision) handover.Result {
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
	if size(to.Template)+size(from.Template) > largeCombination {
		c.large.Add(key, result)
	} else {
		c.known.Add(key, result)
	}
	return result
}

// size is how many bytes the manifests of a template have, which its revision holds anyway.
func size(template *workv1.ManifestWorkSpec) int {
	n := 0
	for i := range template.Workload.Manifests {
		n += len(template.Workload.Manifests[i].Raw)
	}
	return n
}
