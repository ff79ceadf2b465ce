package memory

import (
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
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
