package simulation

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/utils/ptr"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// TestStoriesOfRevisions plays the life of a revision. The golden traces show each change to status.revisions.
func TestStoriesOfRevisions(t *testing.T) {
	playStories(t, map[string]func(*teller){
		"the life of a revision": func(s *teller) {
			s.stable(progressive("p1", 1, "30s", 0, true), "c1", "c2", "c3")
			s.Annotate("image 2")
			s.hangs("v2", "c2")
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
			s.stable(progressive("p1", 1, "30s", 0, false), "c1", "c2", "c3")
			s.hangs("v2", "")
			s.quiet()
			s.Update("v3")
			s.quiet()
		},
		"an aborted revision stays aborted through a later rollout": func(s *teller) {
			s.stable(progressive("p1", 2, "30s", 0, true), "c1", "c2")
			s.hangs("v2", "")
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

// announceRevisions makes the story show status.revisions whenever a write of the status changes it.
func (s *teller) announceRevisions() {
	said := ""
	s.Check = func(write string) {
		if line := s.revisionLine(); strings.HasSuffix(write, "/status") && line != said {
			said = line
			s.Tell("  revisions: %s", line)
		}
	}
}

// R25: the cause belongs to the revision. A template that returns keeps its cause, unless a user sets a new one for the return.
func TestUndoKeepsTheCause(t *testing.T) {
	s := rolledOut(t)
	for _, version := range []string{"v2", "v3", "v4"} {
		s.Annotate("version " + version)
		s.Update(version)
		s.quiet()
	}
	causes := func() map[string]string {
		found, contents := map[string]string{}, s.contents()
		for _, rev := range s.Object().Status.Revisions {
			found[contents[rev.Hash]] = rev.ChangeCause
		}
		return found
	}
	for _, version := range []string{"v3", "v2", "v1", "v4"} {
		s.Update(version)
		s.quiet()
		require.Equal(t, map[string]string{"v1": "", "v2": "version v2", "v3": "version v3", "v4": "version v4"}, causes(), s.story())
	}
	s.Annotate("v4 leaks memory")
	s.Update("v2")
	s.quiet()
	require.Equal(t, "v4 leaks memory", causes()["v2"])
	s.Update("v3")
	s.quiet()
	require.Equal(t, "version v3", causes()["v3"])
}
