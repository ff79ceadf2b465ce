package memory

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// A revision is parsed once, and its labels are those that it has now. A template is parsed once per generation (P8).
func TestContents(t *testing.T) {
	owner := &workv1alpha1.ManifestWorkReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "web", UID: "u1", Generation: 1}}
	owner.Spec.ManifestWorkTemplate = *rt.Template("aaa")
	meant, err := revision.DigestOf(rt.Template("aaa"))
	require.NoError(t, err)
	other, err := revision.DigestOf(rt.Template("bbb"))
	require.NoError(t, err)
	c := NewContents()
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
	first := c.Revision(object)
	require.Equal(t, meant, first.Digest)
	renamed := object.DeepCopy()
	renamed.Labels[workv1alpha1.LabelControllerHash] = "ccc"
	renamed.Data.Raw = nil
	again := c.Revision(renamed)
	require.Equal(t, meant, again.Digest, "its data never changes")
	require.Equal(t, "ccc", again.Hash)
	require.Same(t, renamed, again.Object)
	c.Forget("u2")
	require.Error(t, c.Revision(renamed).Err)
	c.Forget("u1")
	owner.Spec.ManifestWorkTemplate = *rt.Template("aaa")
	require.Equal(t, meant, templateOf())
}

// A tenant whose content takes long to decode keeps nobody waiting who asks for another one's: every pass asks, those of aborts among them.
func TestContentsKeepNobodyWaiting(t *testing.T) {
	c := NewContents()
	owner := &workv1alpha1.ManifestWorkReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "web", UID: "u1", Generation: 1}}
	owner.Spec.ManifestWorkTemplate = *rt.Template("aaa")
	object, err := revision.New(owner, rt.Template("aaa"), "aaa", 1)
	require.NoError(t, err)
	object.UID = "u2"
	slow, slowOwner := object.DeepCopy(), owner.DeepCopy()
	slow.UID, slowOwner.UID = "slow", "slow"

	began, end, done := make(chan struct{}, 2), make(chan struct{}), make(chan struct{}, 2)
	wait := func() { began <- struct{}{}; <-end }
	c.revisions["slow"] = sync.OnceValue(func() revision.Revision { wait(); return revision.Revision{Object: slow} })
	c.templates["slow"] = templateContent{generation: 1, digest: sync.OnceValues(func() (revision.Digest, error) { wait(); return "", nil })}
	go func() { c.Revision(slow); done <- struct{}{} }()
	go func() { _, _ = c.Template(slowOwner); done <- struct{}{} }()

	<-began
	<-began
	require.NoError(t, c.Revision(object).Err)
	_, err = c.Template(owner)
	require.NoError(t, err)
	c.Forget("slow")
	close(end)
	<-done
	<-done
	require.NotContains(t, c.revisions, slow.UID, "what ends after its object is gone is not kept")
}
