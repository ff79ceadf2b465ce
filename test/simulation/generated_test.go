package simulation

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// identity identifies the work of a cluster. A work that was created again has another UID.
type identity struct {
	name string
	uid  types.UID
}

// identities returns the identity of the work of each cluster, and fails if a cluster has two works.
func (s *teller) identities() map[string]identity {
	s.t.Helper()
	found := map[string]identity{}
	for _, work := range s.Works() {
		require.NotContains(s.t, found, work.Namespace, "two works\n%s", s.story())
		found[work.Namespace] = identity{work.Name, work.UID}
	}
	return found
}

// generatedNames checks that works have names that an API server has completed.
func (s *teller) generatedNames(clusters ...string) {
	s.t.Helper()
	found := s.identities()
	require.ElementsMatch(s.t, clusters, slices.Collect(maps.Keys(found)))
	for cluster, work := range found {
		require.Regexp(s.t, "^"+Name+"[bcdfghjklmnpqrstvwxz2456789]{5}$", work.name, cluster)
	}
}

// generated begins a story in which the hub of OCM 1.3 has rolled v1 out to three clusters, under names that the API server completed.
func generated(t *testing.T) *teller {
	t.Helper()
	s := &teller{World: NewWorld(), t: t}
	s.Away, s.GeneratesNames = true, true
	s.Place("p1", []string{"c1", "c2", "c3"})
	s.Create("v1", progressive("p1", 1, "30s", 0, true))
	s.Upstream("p1", "v1", "c1", "c2", "c3")
	s.settle(500 * time.Hour)
	s.generatedNames("c1", "c2", "c3")
	return s
}

// Works that the hub of OCM 1.3 named are taken over as they are, and keep their names through rollout, abort and undo.
func TestTakesOverGeneratedNames(t *testing.T) {
	s := generated(t)
	before := s.identities()
	s.comesBack()
	s.quiet()
	require.Equal(t, before, s.identities())
	require.Equal(t, s.hashOf("v1"), s.Object().Status.CurrentRevision)
	for _, work := range s.Works() {
		require.Equal(t, s.hashOf("v1"), work.Labels[workv1alpha1.LabelControllerHash], work.Namespace)
	}

	s.hangs("v2", "c2")
	s.quiet()
	require.NotNil(t, s.Object().Status.AbortedTime)
	s.has("v1", "c1", "c2", "c3")
	s.Update("v3")
	s.quiet()
	s.has("v3", "c1", "c2", "c3")
	s.Update("v1")
	s.quiet()
	s.has("v1", "c1", "c2", "c3")
	require.Equal(t, before, s.identities())
}

// The upgrade takes place during a rollout of OCM 1.3. The revision on most clusters is the stable one, although the names of its works are
// not those of this hub.
func TestTakesOverGeneratedNamesInTheMiddle(t *testing.T) {
	s := generated(t)
	s.hangs("v2", "c1")
	s.Upstream("p1", "v2", "c1")
	s.settle(500 * time.Hour)
	before := s.identities()
	s.comesBack()
	require.Equal(t, s.hashOf("v1"), s.Object().Status.CurrentRevision)
	s.quiet()
	require.NotNil(t, s.Object().Status.AbortedTime)
	s.has("v1", "c1", "c2", "c3")
	require.Equal(t, before, s.identities())
}

// The hub of OCM 1.3 returns for a while: it continues with this hub's works, and generates the names of works on new clusters. Then this
// hub takes over all works. No work is created twice, or deleted.
func TestGoesBackToGeneratedNames(t *testing.T) {
	each(t, func(s *teller) {
		s.GeneratesNames = true
		before := s.identities()
		s.Place("p1", []string{"c1", "c2", "c3", "c4"})
		s.Update("v3")
		s.Upstream("p1", "v3", "c1", "c2", "c3", "c4")
		s.settle(500 * time.Hour)
		found := s.identities()
		require.Len(s.t, found, 4)
		require.NotEqual(s.t, Name, found["c4"].name)
		for cluster, work := range before {
			require.Equal(s.t, work, found[cluster])
		}
		s.comesBack()
		s.quiet()
		require.Equal(s.t, found, s.identities())
		s.has("v3", "c1", "c2", "c3", "c4")
		require.Equal(s.t, s.hashOf("v3"), s.Object().Status.CurrentRevision)

		// A cluster that leaves and joins again has one work, under this hub's name.
		s.Place("p1", []string{"c1", "c2", "c3"})
		s.quiet()
		s.Place("p1", []string{"c1", "c2", "c3", "c4"})
		s.quiet()
		delete(found, "c4")
		after := s.identities()
		require.Equal(s.t, Name, after["c4"].name)
		delete(after, "c4")
		require.Equal(s.t, found, after)
	})
}
