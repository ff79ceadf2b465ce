package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// claim puts the hash of a revision on a work, as its agent may, with a time that makes the work look like one of this hub's.
func (s *teller) claim(cluster, hash string) {
	s.patch(Works, cluster, Name, map[string]any{"metadata": map[string]any{
		"labels":      map[string]any{workv1alpha1.LabelControllerHash: hash},
		"annotations": map[string]any{workv1alpha1.AnnotationAppliedAt: s.Clock.Now().UTC().Format(time.RFC3339Nano)},
	}}, false)
	s.Tell("agent of %s: labels its work with %s", cluster, hash)
}

// nameCurrent sets status.currentRevision, as any status writer can.
func (s *teller) nameCurrent(hash string) {
	s.patch(ReplicaSets, Namespace, Name, map[string]any{"status": map[string]any{"currentRevision": hash}}, true)
	s.Tell("status writer: sets status.currentRevision to %s", hash)
}

func (s *teller) deleteRevisionOf(version string) {
	s.DeleteRevision(Name + "-" + s.hashOf(version))
}

// rolling is a world of three clusters with v1 as the stable revision, during a rollout of v2 that no cluster finishes.
func rolling(t *testing.T, concurrency int32) *teller {
	t.Helper()
	s := &teller{World: NewWorld(), t: t}
	s.stable(progressive("p1", 3, "30s", 0, true), "c1", "c2", "c3")
	s.Edit("sets maxConcurrency", func(spec *workv1alpha1.ManifestWorkReplicaSetSpec) {
		spec.PlacementRefs = []workv1alpha1.LocalPlacementReference{progressive("p1", concurrency, "30s", 0, true)}
	})
	s.hangs("v2", "")
	s.settle(10 * time.Second)
	return s
}

// A status writer and an agent together can't bring content to other clusters: the hub reverts a hash that is unknown to the history and
// its records, and does not trust a work because of it.
func TestForgedCurrentRevisionIsPutBack(t *testing.T) {
	s := rolling(t, 1)
	stable := s.hashOf("v1")
	s.forge("c3", "forged")
	s.claim("c3", "forgedhash")
	s.nameCurrent("forgedhash")
	s.quiet()
	require.Equal(t, stable, s.Object().Status.CurrentRevision, s.story())
	require.Empty(t, s.hashOf("forged"))
	s.warned(workv1alpha1.EventCurrentRevisionIgnored, `status.currentRevision is "forgedhash"`, `restored "`+stable+`"`)
	s.has("v1", "c1", "c2", "c3")
}

// A status can't make a revision the current one if it never was, and it can't remove the current one.
func TestCurrentRevisionThatNeverWasIsPutBack(t *testing.T) {
	for name, named := range map[string]string{"the update revision": "v2", "an aborted one": "v0", "none": ""} {
		t.Run(name, func(t *testing.T) {
			s := &teller{World: NewWorld(), t: t}
			s.stable(progressive("p1", 1, "30s", 0, true), "c1", "c2", "c3")
			for _, version := range []string{"v0", "v2"} {
				s.Report("", version, Hangs)
				s.Update(version)
				s.settle(10 * time.Second)
			}
			s.nameCurrent(s.hashOf(named))
			s.quiet()
			require.Equal(t, s.hashOf("v1"), s.Object().Status.CurrentRevision, s.story())
			s.has("v1", "c1", "c2", "c3")
			s.warned(workv1alpha1.EventCurrentRevisionIgnored, "status.currentRevision")
		})
	}
}

// A user names a revision that was the current one before. The next abort restores that revision, even if the status was lost in between.
func TestFormerCurrentRevisionIsNamedByHand(t *testing.T) {
	s := &teller{World: NewWorld(), t: t}
	s.stable(progressive("p1", 1, "30s", 0, true), "c1", "c2", "c3")
	s.Update("v2")
	s.quiet()
	s.Check = nil // P3 applies to decisions of the hub.
	s.hangs("v3", "")
	s.settle(10 * time.Second)
	s.nameCurrent(s.hashOf("v1"))
	s.settle(time.Second)
	s.wipeStatus()
	s.quiet()
	require.Equal(t, s.hashOf("v1"), s.Object().Status.CurrentRevision, s.story())
	s.has("v1", "c1", "c2", "c3")
}

// If no revision ever was the current one, a user can name one from the history.
func TestCurrentRevisionIsNamedAfterFirstSight(t *testing.T) {
	s := &teller{World: NewWorld(), t: t}
	firstSight(s.World)
	s.Report("c1", "v3", Succeeds)
	s.Report("c1", "v4", Hangs)
	s.Upgrade()
	s.Update("v4")
	s.settle(10 * time.Second)
	require.Empty(t, s.Object().Status.CurrentRevision)
	s.nameCurrent(s.hashOf("v2"))
	s.quiet()
	require.NotNil(t, s.Object().Status.AbortedTime, s.story())
	s.has("v2", "c1", "c2", "c3", "c4")
}

// A deleted stable revision stays deleted, even if works have its hash. The rollout can't be aborted, and the conditions report that (R7,
// R12).
func TestDeletedStableRevision(t *testing.T) {
	for _, forged := range []bool{false, true} {
		s := rolling(t, 1)
		stable := s.hashOf("v1")
		if forged {
			for _, cluster := range []string{"c2", "c3"} {
				s.forge(cluster, "forged")
				s.claim(cluster, stable)
			}
		}
		s.deleteRevisionOf("v1")
		s.quiet()
		require.Nil(t, s.Object().Status.AbortedTime, s.story())
		require.Empty(t, s.hashOf("forged"))
		require.Empty(t, s.hashOf("v1"))
		require.Equal(t, stable, s.Object().Status.CurrentRevision)
		s.says(workv1alpha1.ConditionProgressing, "there is no ControllerRevision web-"+stable+" to return to")
		s.Report("", "v2", Succeeds)
		s.quiet()
		require.Equal(t, s.hashOf("v2"), s.Object().Status.CurrentRevision, "the next completion shows a way back again")
		s.everywhere("v2")
	}
}
