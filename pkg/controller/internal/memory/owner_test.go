package memory

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// A revision is parsed once, and its labels are always the current ones. A template is parsed once per generation (P8).
func TestContents(t *testing.T) {
	owner := &workv1alpha1.ManifestWorkReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "web", UID: "u1", Generation: 1}}
	owner.Spec.ManifestWorkTemplate = *rt.Template("aaa")
	meant, err := revision.DigestOf(rt.Template("aaa"))
	require.NoError(t, err)
	other, err := revision.DigestOf(rt.Template("bbb"))
	require.NoError(t, err)
	c := newOwner("u1", nil)
	templateOf := func() revision.Digest {
		digest, err := c.Template(owner)
		require.NoError(t, err)
		return digest
	}
	require.Equal(t, meant, templateOf())
	owner.Spec.ManifestWorkTemplate = *rt.Template("bbb")
	require.Equal(t, meant, templateOf(), "the generation is the same")
	owner.Generation++
	require.Equal(t, other, templateOf())

	object, err := revision.New(owner, rt.Template("aaa"), "aaa", 1)
	require.NoError(t, err)
	object.UID = "u2"
	revisionOf := func(object *appsv1.ControllerRevision) revision.Revision {
		return c.Revisions([]*appsv1.ControllerRevision{object})[0]
	}
	first := revisionOf(object)
	require.Equal(t, meant, first.Digest)
	renamed := object.DeepCopy()
	renamed.Labels[workv1alpha1.LabelControllerHash] = "ccc"
	renamed.Data.Raw = nil
	again := revisionOf(renamed)
	require.Equal(t, meant, again.Digest, "its data never changes")
	require.Equal(t, "ccc", again.Hash)
	require.Same(t, renamed, again.Object)
	require.Empty(t, c.Revisions(nil))
	require.Error(t, revisionOf(renamed).Err, "it was deleted")
}

// If the content of a tenant takes long to decode, other passes do not wait: no lock that they need is held in the meantime.
func TestDecodingNeedsNoLock(t *testing.T) {
	owner := &workv1alpha1.ManifestWorkReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "web", UID: "u1", Generation: 1}}
	owner.Spec.ManifestWorkTemplate = *rt.Template("aaa")
	object, err := revision.New(owner, rt.Template("aaa"), "aaa", 1)
	require.NoError(t, err)
	owners := NewOwners()
	o := owners.OwnerOf("demo/web", "u1")
	owners.mu.Lock()
	o.mu.Lock()
	_, err = o.Template(owner)
	require.NoError(t, err)
	require.NoError(t, o.Revisions([]*appsv1.ControllerRevision{object})[0].Err)
}
