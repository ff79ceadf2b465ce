package memory

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/orphan"
)

func releasedWorkAt(version string) *workv1.ManifestWork {
	return &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{UID: "uid", ResourceVersion: version}}
}

// A work is checked again if it changed, unless another check can change nothing.
func TestReleases(t *testing.T) {
	m := &Releases{}
	require.False(t, m.Begun())
	m.Begin()
	require.True(t, m.Begun())
	_, known := m.Step(releasedWorkAt("7"))
	require.False(t, known)

	m.Looked("uid", "7", orphan.Step{Action: orphan.Wait})
	step, known := m.Step(releasedWorkAt("7"))
	require.True(t, known)
	require.Equal(t, orphan.Wait, step.Action)
	_, known = m.Step(releasedWorkAt("8"))
	require.False(t, known)

	m.Looked("uid", "8", orphan.Step{Action: orphan.Leaving, Spec: &workv1.ManifestWorkSpec{}})
	step, known = m.Step(releasedWorkAt("9"))
	require.True(t, known)
	require.Equal(t, orphan.Step{Action: orphan.Leaving}, step, "no spec is kept")

	require.Equal(t, 3, m.Clusters(3))
	require.Equal(t, 3, m.Clusters(1))
	m.End()
	require.False(t, m.Begun())
	require.Zero(t, m.Clusters(0))
}

// The message from an agent about a manifest keeps its first wording, even if the wording changes with each retry (P7).
func TestReleasesKeepTheFirstWords(t *testing.T) {
	m := &Releases{}
	m.Begin()
	held := func(manifests ...orphan.Manifest) orphan.Step {
		return orphan.Step{Action: orphan.Wait, Unreleased: manifests}
	}
	m.Looked("uid", "1", held(orphan.Manifest{Name: "a", Message: "request 1"}))
	step := m.Looked("uid", "2", held(orphan.Manifest{Name: "b", Message: "request 2"}, orphan.Manifest{Name: "a", Message: "request 3"}))
	require.Equal(t, []orphan.Manifest{{Name: "b", Message: "request 2"}, {Name: "a", Message: "request 1"}}, step.Unreleased)
}

// The same spec is written at most once per minute, because the API server may store a different one each time.
func TestReleasesRepeat(t *testing.T) {
	m := &Releases{}
	m.Begin()
	now := time.Unix(1000, 0)
	orphan := &workv1.ManifestWorkSpec{DeleteOption: &workv1.DeleteOption{PropagationPolicy: workv1.DeletePropagationPolicyTypeOrphan}}
	require.False(t, m.Repeats("uid", orphan, now))
	m.Wrote("uid", orphan, now)
	require.True(t, m.Repeats("uid", orphan, now.Add(RefusedInterval-1)))
	require.False(t, m.Repeats("uid", &workv1.ManifestWorkSpec{}, now), "another spec")
	require.False(t, m.Repeats("another", orphan, now))
	require.False(t, m.Repeats("uid", orphan, now.Add(RefusedInterval)))
}
