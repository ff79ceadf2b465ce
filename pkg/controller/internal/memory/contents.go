package memory

import (
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
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

// reportInterval is how often counts and messages of one ManifestWorkReplicaSet are written at the most: a thousand agents that
// answer within a second are one write. What a person or a program waits for is written at once.
const reportInterval = time.Second

// ReportWait returns how long a status has to wait: it reports progress only, and the last one was written a moment ago. Zero means that it
// is written in this pass, if it changed.
func (m *Told) ReportWait(owner string, stored, wanted *workv1alpha1.ManifestWorkReplicaSetStatus, now time.Time) time.Duration {
	last := m.LastReport(owner)
	if last.IsZero() || !onlyProgress(stored, wanted) || equality.Semantic.DeepEqual(*stored, *wanted) {
		return 0
	}
	wait := last.Add(reportInterval).Sub(now)
	if wait > reportInterval { // The clock went back.
		return 0
	}
	return max(0, wait)
}

// onlyProgress reports whether two statuses differ in counts and messages at the most.
func onlyProgress(stored, wanted *workv1alpha1.ManifestWorkReplicaSetStatus) bool {
	if len(stored.Conditions) != len(wanted.Conditions) ||
		!equality.Semantic.DeepEqual(status.RevisionsOf(stored), status.RevisionsOf(wanted)) {
		return false
	}
	for i := range wanted.Conditions {
		if !sameState(&stored.Conditions[i], &wanted.Conditions[i]) {
			return false
		}
	}
	return true
}

func sameState(a, b *metav1.Condition) bool {
	return a.Type == b.Type && a.Status == b.Status && a.Reason == b.Reason && a.ObservedGeneration == b.ObservedGeneration
}
