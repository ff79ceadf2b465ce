package simulation

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// TestStoriesOfRevisions plays what a revision goes through, and says in the golden traces each time that status.revisions changes (R25, R26).
func TestStoriesOfRevisions(t *testing.T) {
	playStories(t, map[string]func(*teller){
		"the life of a revision": func(s *teller) {
			s.Place("p1", []string{"c1", "c2", "c3"})
			s.Create("v1", progressive("p1", 1, "30s", 0, true))
			s.quiet()
			s.Annotate("image 2")
			s.Report("c2", "v2", Hangs)
			s.Update("v2")
			s.quiet()
			s.Tell("agents: c2 gets there after all")
			s.Report("c2", "v2", Succeeds)
			s.Annotate("nobody rolls out because of this")
			s.Retry()
			s.quiet()
			s.Annotate("image 2 leaks memory")
			s.Update("v1")
			s.quiet()
			s.Tell("agents: c3 relapses")
			s.Report("c3", "v1", Degrades)
			s.quiet()
		},
		"a broken revision in between": func(s *teller) {
			s.Place("p1", []string{"c1", "c2", "c3"})
			s.Create("v1", progressive("p1", 1, "30s", 0, false))
			s.quiet()
			s.Report("", "v2", Hangs)
			s.Update("v2")
			s.quiet()
			s.Update("v3")
			s.quiet()
		},
		"an aborted revision stays aborted through a later rollout": func(s *teller) {
			s.Place("p1", []string{"c1", "c2"})
			s.Create("v1", progressive("p1", 2, "30s", 0, true))
			s.quiet()
			s.Report("", "v2", Hangs)
			s.Update("v2")
			s.quiet()
			s.Update("v3")
			s.quiet()
			s.Tell("agents: v2 works now")
			s.Report("", "v2", Succeeds)
			s.Update("v2")
			s.quiet()
		},
		"revisions come and go": func(s *teller) {
			s.Place("p1", []string{"c1", "c2"})
			s.Create("v1", progressive("p1", 2, "30s", 0, true))
			s.Edit("keeps one old revision", func(spec *workv1alpha1.ManifestWorkReplicaSetSpec) { spec.RevisionHistoryLimit = ptr.To(int32(1)) })
			s.quiet()
			s.Update("v2")
			s.quiet()
			s.Update("v3")
			s.quiet()
			s.Place("p1", []string{"c1", "c2", "c3"})
			s.quiet()
			s.Place("p1")
			s.quiet()
			s.DeleteRevision(Name + "-" + s.hashOf("v2"))
			s.quiet()
		},
		"the right to read the revisions comes late": func(s *teller) {
			s.API.NoHistory = true
			s.Place("p1", []string{"c1", "c2"})
			s.Create("v1", progressive("p1", 2, "30s", 0, true))
			s.settle(time.Minute)
			s.must(s.checkRevisionList())
			s.Tell("admin: grants the permission")
			s.API.NoHistory = false
			s.quiet()
			s.Tell("admin: takes the permission away")
			s.API.NoHistory, s.due = true, true
			s.settle(time.Hour)
			s.must(s.checkRevisionList())
		},
	}, (*teller).announceRevisions)
}

// announceRevisions has the story tell status.revisions whenever a write of the status changes what it says.
func (s *teller) announceRevisions() {
	said := ""
	s.Check = func(write string) {
		if line := s.revisionLine(); strings.HasSuffix(write, "/status") && line != said {
			said = line
			s.Tell("  revisions: %s", line)
		}
	}
}

// P7: an API server whose CRD lacks status.revisions alone is asked to store it now and then, and not in each pass. The rest of the status is told
// as ever, and the list is there once the CRD is.
func TestCRDWithoutTheRevisionList(t *testing.T) {
	s := &teller{World: NewWorld(), t: t}
	s.API.Unlisting = true
	s.Place("p1", []string{"c1", "c2"})
	s.Create("v1", progressive("p1", 1, "30s", 0, true))
	s.settle(time.Minute)
	require.NotEmpty(t, s.Object().Status.CurrentRevision)
	require.Equal(t, s.Object().Generation, s.Object().Status.ObservedGeneration)
	s.warned(workv1alpha1.EventOlderCRD, "drops status.revisions:", "apply the one that came with this hub")

	s.seldomAsks()

	s.API.Unlisting = false
	s.settle(6 * time.Minute)
	require.Len(t, s.Object().Status.Revisions, 1)
	require.NotContains(t, meta.FindStatusCondition(s.Object().Status.Conditions, workv1alpha1.ConditionProgressing).Message, "drops")
	s.quiet()
}

// P7: a change cause that changes while the template stays writes nothing, and makes no revision (R25).
func TestChangeCauseAlone(t *testing.T) {
	s := &teller{World: NewWorld(), t: t}
	s.Place("p1", []string{"c1", "c2"})
	s.Create("v1", progressive("p1", 1, "30s", 0, true))
	s.quiet()
	s.Check = func(write string) { require.Fail(t, "the hub writes", write) }
	s.Annotate("nothing but words")
	s.quiet()
	require.Len(t, s.Revisions(), 1)
	require.Empty(t, s.Object().Status.Revisions[0].ChangeCause, "it was not there yet")
}
