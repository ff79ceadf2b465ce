package memory

import (
	"testing"

	"github.com/stretchr/testify/require"
	workv1 "open-cluster-management.io/api/work/v1"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	"github.com/open-cluster-management-io/work-rollback/pkg/handover"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

func dropping(hash string, names ...string) *work.Revision {
	rev := rt.Revision(hash)
	rev.Template = &workv1.ManifestWorkSpec{}
	for _, name := range names {
		var manifest workv1.Manifest
		manifest.Raw = []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"default","name":"` + name + `"}}`)
		rev.Template.Workload.Manifests = append(rev.Template.Workload.Manifests, manifest)
	}
	return rev
}

// The combination of two revisions is computed once, for any number of works that change from one to the other.
func TestCombinations(t *testing.T) {
	c := NewCombinations(handover.DefaultLimits())
	a, b := dropping("a", "x"), dropping("b", "y")
	first := c.CombinationOf(b, a).Combined
	require.Equal(t, []string{"ConfigMap default/x"}, first.Kept)
	require.Same(t, first, c.CombinationOf(b, a).Combined)
	require.Equal(t, []string{"ConfigMap default/y"}, c.CombinationOf(a, b).Combined.Kept, "the other way is another combination")

	broken := rt.Revision("c")
	broken.Template = &workv1.ManifestWorkSpec{Workload: workv1.ManifestsTemplate{Manifests: []workv1.Manifest{{}}}}
	result := c.CombinationOf(broken, a)
	require.Nil(t, result.Combined)
	require.Len(t, result.NotKept, 1)
	require.Contains(t, result.NotKept[0], "the new revision: workload.manifests[0]")
}
