package memory

import (
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/handover"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// Contents remembers what revisions and templates mean, and parses each once: the data of a ControllerRevision never
// changes, a template only with the generation.
type Contents struct {
	mu        sync.Mutex
	revisions map[types.UID]revision.Revision
	templates map[types.UID]templateContent
}

type templateContent struct {
	generation int64
	digest     revision.Digest
	err        error
}

// NewContents returns one that knows nothing.
func NewContents() *Contents {
	return &Contents{revisions: map[types.UID]revision.Revision{}, templates: map[types.UID]templateContent{}}
}

// Forget drops what is known of an object that is gone.
func (c *Contents) Forget(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.revisions, uid)
	delete(c.templates, uid)
}

// Revision returns what a ControllerRevision means, with the labels that it has now.
func (c *Contents) Revision(object *appsv1.ControllerRevision) revision.Revision {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, ok := c.revisions[object.UID]
	if !ok {
		known = revision.Decode(object)
		c.revisions[object.UID] = known
	}
	known.Object = object
	known.Hash = object.Labels[workv1alpha1.LabelControllerHash]
	return known
}

// Template returns the digest of an object's template; the error is why it has none.
func (c *Contents) Template(object *workv1alpha1.ManifestWorkReplicaSet) (revision.Digest, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, ok := c.templates[object.UID]
	if !ok || known.generation != object.Generation {
		known = templateContent{generation: object.Generation}
		known.digest, known.err = revision.DigestOf(&object.Spec.ManifestWorkTemplate)
		c.templates[object.UID] = known
	}
	return known.digest, known.err
}

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
