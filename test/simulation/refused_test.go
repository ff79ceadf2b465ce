package simulation

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// refusing makes the writes with a prefix fail with a fault, until the returned function is called.
func (s *teller) refusing(write string, fault Fault) (permit func()) {
	s.Tell("admin: lets %q fail: %s", write, fault)
	s.Fault = func(what string) Fault {
		if strings.HasPrefix(what, write) {
			return fault
		}
		return NoFault
	}
	return func() {
		s.Tell("admin: lets %q through", write)
		s.Fault = nil
	}
}

// rolledOut is a world in which v1 is complete on two clusters, with failureStrategy AbortAll.
func rolledOut(t *testing.T) *teller {
	t.Helper()
	s := checkedStory(t)
	s.stable(all("p1", "30s", true), "c1", "c2")
	return s
}

func (s *teller) everywhere(version string) {
	s.t.Helper()
	for _, work := range s.Works() {
		require.Equal(s.t, version, Version(work), s.story())
	}
}

// says checks that a condition has observed the current spec, and that its message contains all parts.
func (s *teller) says(conditionType string, parts ...string) *metav1.Condition {
	s.t.Helper()
	object := s.Object()
	found := meta.FindStatusCondition(object.Status.Conditions, conditionType)
	require.NotNil(s.t, found, s.story())
	require.Equal(s.t, object.Generation, found.ObservedGeneration, s.story())
	for _, part := range parts {
		require.Contains(s.t, found.Message, part, s.story())
	}
	return found
}

// idle checks P7 while a write is rejected: the retries change nothing.
func (s *teller) idle() {
	s.t.Helper()
	require.NoError(s.t, s.checkIdle(10*time.Minute), s.story())
}

// R11: if the hub may not write ManifestWorks, no cluster has failed. Without this, each rollout would be aborted at its deadline, and
// healthy clusters would return.
func TestMissingPermissionOnWorksAbortsNothing(t *testing.T) {
	s := rolledOut(t)
	permit := s.refusing("patch work c2", NotPermitted)
	s.Update("v2")
	s.settle(5 * time.Minute)
	require.Equal(t, workv1alpha1.StateRollingOut, s.Object().Status.State, s.story())
	require.Empty(t, s.Object().Status.Failures, s.story())
	s.says(workv1alpha1.ConditionProgressing, "writes of 1 ManifestWork keep failing", `User "hub" cannot patch`)
	s.idle()
	permit()
	s.quiet()
	s.everywhere("v2")
}

// R12: a failed rollout is aborted even if no agent could apply the newer template in the spec.
func TestFailedRolloutIsAbortedWhileTheTemplateIsInvalid(t *testing.T) {
	s := rolledOut(t)
	s.hangs("v2", "c1")
	s.settle(10 * time.Second)
	empty := map[string]any{"workload": map[string]any{"manifests": []any{}}}
	s.patch(ReplicaSets, Namespace, Name, map[string]any{"spec": map[string]any{"manifestWorkTemplate": empty}}, false)
	s.Tell("user: empties the template")
	s.settle(time.Second)
	s.says(workv1alpha1.ConditionManifestworkApplied, "spec.manifestWorkTemplate.workload.manifests is empty")
	s.quiet()
	s.everywhere("v1")
	s.says(workv1alpha1.ConditionProgressing, "was aborted", "spec.manifestWorkTemplate.workload.manifests is empty")
	s.Update("v3")
	s.quiet()
	s.everywhere("v3")
}

// R2, R3: a template whose revision can't be recorded is not rolled out. The conditions report this, and nothing else about the template.
func TestRefusedRevisionIsTold(t *testing.T) {
	for name, write := range map[string]string{"v3": "create revision", "v1": "patch revision"} {
		t.Run(write, func(t *testing.T) {
			s := rolledOut(t)
			s.Update("v2")
			s.quiet()
			permit := s.refusing(write, Denied)
			s.Update(name)
			s.Place("p1", []string{"c1", "c2", "c3"})
			s.settle(time.Minute)
			s.says(workv1alpha1.ConditionManifestworkApplied, "ControllerRevision default/web-", "simulated", "retried")
			progressing := meta.FindStatusCondition(s.Object().Status.Conditions, workv1alpha1.ConditionProgressing)
			require.NotEqual(t, s.Object().Generation, progressing.ObservedGeneration, "it is not known to be complete")
			require.Len(t, s.Works(), 2)
			s.everywhere("v2")
			s.idle()
			permit()
			s.quiet()
			s.everywhere(name)
			require.Len(t, s.Works(), 3)
		})
	}
}

// R12, R42: an abort that the status records is finished even if the revision can't hold the copy.
func TestAbortIsCarriedOutWhileItsAnnotationIsRefused(t *testing.T) {
	for _, fault := range []Fault{Denied, Refused} {
		t.Run(string(fault), func(t *testing.T) {
			s := rolledOut(t)
			s.hangs("v2", "c1")
			s.settle(10 * time.Second)
			permit := s.refusing("patch revision", fault)
			s.settle(2 * time.Minute)
			s.everywhere("v1")
			const reason = "1 of 2 clusters failed (c1): not successful within progressDeadline 30s"
			s.says(workv1alpha1.ConditionProgressing, "was aborted", reason, "ControllerRevision default/web-", "simulated",
				"the request is retried at least every 5 minutes", "confirmed by 2 of 2 clusters")
			s.idle()
			require.Equal(t, ptr.To[int32](2), s.Object().Status.Revisions[0].ReachedClusters)
			permit()
			s.quiet()
			s.everywhere("v1")
			require.NotNil(t, revision.RecordOf(s.Revisions()[1]).Abort)
			require.Equal(t, ptr.To[int32](2), revision.RecordOf(s.Revisions()[1]).Reached, "as at the time of the decision")
			require.Equal(t, ptr.To[int32](2), s.Object().Status.Revisions[0].ReachedClusters)
			s.says(workv1alpha1.ConditionProgressing, "was aborted", reason)
			require.NotContains(t, s.says(workv1alpha1.ConditionProgressing).Message, "simulated")
		})
	}
}

// R12: an abort request is removed if nothing can be aborted, even without a history, and next to a template that can't be rolled out. No
// work is written, and the conditions report nothing else about the template.
func TestAbortByHandOfNothing(t *testing.T) {
	for name, before := range map[string]func(*teller){
		"complete":   func(*teller) {},
		"no history": func(s *teller) { s.API.NoHistory = true },
		"refused":    func(s *teller) { s.refusing("create revision", Denied); s.Update("v3") },
		"undone in the middle": func(s *teller) {
			s.hangs("v2", "c1")
			s.settle(10 * time.Second)
			s.Report("c1", "v1", Silent)
			s.Update("v1")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := rolledOut(t)
			before(s)
			s.settle(time.Second)
			works := s.Works()
			s.AbortByHand()
			s.settle(time.Minute)
			require.Nil(t, s.Object().Status.AbortedTime, s.story())
			require.Equal(t, 1, counts(s.events)[workv1alpha1.EventAbortIgnored], s.story())
			require.Zero(t, counts(s.events)[workv1alpha1.EventRolloutAborted])
			for i, work := range s.Works() {
				require.Equal(t, works[i].Generation, work.Generation)
			}
		})
	}
}

// P7: fields that an older CRD drops are not written again and again while a revision is rejected.
func TestRefusedRevisionUnderAnOlderCRD(t *testing.T) {
	s := &teller{World: NewWorld(), t: t}
	s.API.OlderCRD = true
	s.Place("p1", []string{"c1", "c2"})
	s.Create("v1", all("p1", "30s", true))
	s.settle(time.Minute)
	s.restarts()
	s.refusing("create revision", Denied)
	s.Update("v2")
	s.settle(time.Minute)
	s.says(workv1alpha1.ConditionManifestworkApplied, "ControllerRevision default/web-", "simulated")
	refuse, sent := s.Fault, 0
	s.Fault = func(what string) Fault {
		if strings.HasSuffix(what, "/status") {
			sent++
		}
		return refuse(what)
	}
	s.idle()
	require.LessOrEqual(t, sent, 2, "it asks now and then whether the CRD has status.ledger")
}

// R42: a retry continues with the status alone if the revision can't hold the ledger, and the conditions report this.
func TestRetryWhileItsAnnotationIsRefused(t *testing.T) {
	s := rolledOut(t)
	s.hangs("v2", "c1")
	s.quiet()
	s.Report("c1", "v2", Succeeds)
	permit := s.refusing("patch revision", Denied)
	s.Retry()
	s.settle(time.Minute)
	s.everywhere("v2")
	s.says(workv1alpha1.ConditionManifestworkApplied, "ControllerRevision default/web-", "simulated", "retried")
	permit()
	s.quiet()
	s.everywhere("v2")
}

// R1, R7: an update revision that was deleted, and can't be created again, is not rolled out under another hash.
func TestDeletedUpdateRevisionIsRefused(t *testing.T) {
	s := rolledOut(t)
	s.Update("v2")
	s.settle(time.Second)
	permit := s.refusing("create revision", Denied)
	s.DeleteRevision(s.Revisions()[1].Name)
	s.settle(time.Minute)
	s.says(workv1alpha1.ConditionManifestworkApplied, "ControllerRevision default/web-", "simulated")
	before := s.Object().Status.UpdateRevision
	permit()
	s.quiet()
	require.Equal(t, before, s.Object().Status.UpdateRevision)
	s.everywhere("v2")
}
