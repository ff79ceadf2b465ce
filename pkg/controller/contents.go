package controller

import (
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// contents remembers what revisions and templates mean, so that each is parsed once: the data of a ControllerRevision never
// changes, a template only with the generation.
type contents struct {
	mu        sync.Mutex
	revisions map[types.UID]revision.Revision
	templates map[types.UID]templateContent
}

type templateContent struct {
	generation int64
	digest     revision.Digest
	err        error
}

func newContents() *contents {
	return &contents{revisions: map[types.UID]revision.Revision{}, templates: map[types.UID]templateContent{}}
}

func (c *contents) forget(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.revisions, uid)
	delete(c.templates, uid)
}

func (c *contents) revision(object *appsv1.ControllerRevision) revision.Revision {
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

func (c *contents) template(object *workv1alpha1.ManifestWorkReplicaSet) (revision.Digest, error) {
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
