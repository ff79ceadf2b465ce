package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// replaceRevision deletes the revision of a version and creates one with other content under its name, as a writer of ControllerRevisions
// may.
func (s *teller) replaceRevision(version, content string, owner types.UID) {
	s.t.Helper()
	hash, template := s.hashOf(version), Template(content)
	forged, err := revision.New(s.Object(), &template, hash, s.Revisions()[0].Revision)
	s.must(err)
	forged.OwnerReferences[0].UID = owner
	s.must(s.API.Delete(Revisions, Namespace, forged.Name, nil))
	_, err = s.API.Create(Revisions, from(forged))
	s.must(err)
	s.Tell("writer of ControllerRevisions: puts %s into %s", content, forged.Name)
}

// A writer of ControllerRevisions can determine the content that an abort writes, if the replaced revision names the ManifestWorkReplicaSet
// as its controller. A revision that another object controls never reaches a cluster.
func TestReplacedRevisionIsWhatAnAbortWrites(t *testing.T) {
	t.Run("controlled by the object", func(t *testing.T) {
		s := rolling(t, 3)
		s.replaceRevision("v1", "forged", s.Object().UID)
		s.settle(Forever)
		require.NotNil(t, s.Object().Status.AbortedTime, s.story())
		s.has("forged", "c1", "c2", "c3")
	})
	t.Run("controlled by another object", func(t *testing.T) {
		s := rolling(t, 3)
		s.replaceRevision("v1", "forged", "another")
		s.settle(Forever)
		require.Nil(t, s.Object().Status.AbortedTime, s.story())
		s.has("v2", "c1", "c2", "c3")
	})
}

// A status writer who names the update revision, and forges the condition of a complete rollout, does not prevent an abort: this hub
// decided that the rollout is not complete, and the revision was never the current revision.
func TestForgedCompletionHoldsNoAbortUp(t *testing.T) {
	s := rolling(t, 1)
	stable, update := s.hashOf("v1"), s.hashOf("v2")
	object := s.Object()
	conditions := object.Status.Conditions
	for _, forged := range []metav1.Condition{
		{Type: workv1alpha1.ConditionProgressing, Status: metav1.ConditionFalse, Reason: workv1alpha1.ReasonNewManifestWorkAvailable},
		{Type: workv1alpha1.ConditionPlacementRolledOut, Status: metav1.ConditionTrue, Reason: workv1alpha1.ReasonComplete},
		{Type: workv1alpha1.ConditionManifestworkApplied, Status: metav1.ConditionTrue, Reason: workv1alpha1.ReasonAsExpected},
	} {
		forged.ObservedGeneration = object.Generation
		meta.SetStatusCondition(&conditions, forged)
	}
	s.patch(ReplicaSets, Namespace, Name, map[string]any{"status": map[string]any{"currentRevision": update, "conditions": conditions}}, true)
	s.Tell("status writer: claims that v2 is complete")
	s.quiet()
	require.Equal(t, stable, s.Object().Status.CurrentRevision, s.story())
	require.NotNil(t, s.Object().Status.AbortedTime)
	s.has("v1", "c1", "c2", "c3")
	s.warned(workv1alpha1.EventCurrentRevisionIgnored, `restored "`+stable+`"`)
}

// An agent that forges the Complete condition only removes its own cluster from the failed clusters. A failure of another cluster still
// causes an abort.
func TestForgedCompleteCountsForItsClusterOnly(t *testing.T) {
	s := stableFleet(t, 0)
	s.Corrupt("c1")
	object, err := s.API.Get(Works, "c1", Name)
	s.must(err)
	conditions := []metav1.Condition{}
	for _, conditionType := range []string{workv1.WorkApplied, workv1.WorkAvailable, workv1.WorkComplete} {
		meta.SetStatusCondition(&conditions, metav1.Condition{Type: conditionType, Status: metav1.ConditionTrue, Reason: "Forged",
			ObservedGeneration: object.GetGeneration(), LastTransitionTime: metav1.NewTime(s.Clock.Now())})
	}
	s.patch(Works, "c1", Name, map[string]any{"status": map[string]any{"conditions": conditions}}, true)
	s.Tell("agent of c1: reports Complete")
	s.settle(10 * time.Second)
	s.hangs("v2", "c1")
	s.settle(2 * time.Minute)
	require.Nil(t, s.Object().Status.AbortedTime, s.story())
	s.has("v2", "c2", "c3")

	s.hangs("v3", "c2")
	s.settle(5 * time.Minute)
	require.NotNil(t, s.Object().Status.AbortedTime, s.story())
	s.has(s.contents()[s.Object().Status.CurrentRevision], "c2", "c3")
}
