package simulation

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// pausedMessage returns the message of the condition Paused; empty if there is no such condition.
func (s *teller) pausedMessage() string {
	if found := meta.FindStatusCondition(s.Object().Status.Conditions, workv1alpha1.ConditionPaused); found != nil {
		return found.Message
	}
	return ""
}

// versions checks the versions on the clusters, c1 first.
func (s *teller) versions(wanted ...string) {
	s.t.Helper()
	var held []string
	for _, cluster := range []string{"c1", "c2", "c3", "c4"}[:len(wanted)] {
		held = append(held, s.held(cluster))
	}
	require.Equal(s.t, wanted, held, s.story())
}

// pausedUntilItFails pauses the rollout of v2 while it waits for c1, which hangs, until the deadline of c1 has passed.
func (s *teller) pausedUntilItFails(abort bool) {
	s.stable(progressive("p1", 1, "30s", 0, abort), "c1", "c2")
	s.hangs("v2", "c1")
	s.settle(10 * time.Second)
	s.Pause(true)
	s.quiet()
}

// TestStoriesOfPauses plays named stories of objects that are paused, as TestStories does.
func TestStoriesOfPauses(t *testing.T) {
	playStories(t, map[string]func(*teller){
		"paused in the middle of a rollout": func(s *teller) {
			s.stable(progressive("p1", 1, "30s", 0, true), "c1", "c2", "c3")
			s.Update("v2")
			s.settle(time.Second)
			s.Pause(true)
			s.quiet()
			s.versions("v2", "v1", "v1")
			s.kstatus(status.InProgressStatus)
			s.restarts()
			s.quiet()
			s.Pause(false)
			s.quiet()
			s.versions("v2", "v2", "v2")
		},
		"paused when it is complete, and drift": func(s *teller) {
			s.stable(progressive("p1", 1, "30s", 0, true), "c1", "c2")
			s.Pause(true)
			s.quiet()
			s.kstatus(status.CurrentStatus)
			s.overwrite("c1")
			s.Tell("user: edits the work of c1")
			s.quiet()
			s.versions(edited, "v1")
			s.Pause(false)
			s.quiet()
			s.versions("v1", "v1")
		},
		"paused in the middle of an abort": func(s *teller) {
			s.stable(progressive("p1", 3, "30s", 0, true), "c1", "c2", "c3")
			s.Report("c1", "v2", Hangs)
			s.Fault = failing(s.World, "patch work c2/web", KilledBefore)
			s.Wrote("patch work c1/web (v1)", func() { s.Pause(true) })
			s.Update("v2")
			s.quiet()
			s.versions("v1", "v2", "v2")
			s.kstatus(status.InProgressStatus)
			s.Update("v3")
			s.quiet()
			s.versions("v1", "v2", "v2")
			s.Pause(false)
			s.quiet()
			s.versions("v3", "v3", "v3")
		},
		"clusters join and leave while it is paused": func(s *teller) {
			s.stable(progressive("p1", 1, "30s", 0, true), "c1", "c2", "c3")
			s.Pause(true)
			s.Place("p1", []string{"c1", "c2", "c4"})
			s.quiet()
			s.versions("v1", "v1", "v1", "")
			s.Pause(false)
			s.settle(time.Second)
			s.versions("v1", "v1", "", "v1")
			s.quiet()
		},
		"a retry while it is paused": func(s *teller) {
			s.aborts()
			s.Pause(true)
			s.quiet()
			s.kstatus(status.FailedStatus)
			s.Report("c1", "v2", Succeeds)
			s.Retry()
			s.quiet()
			s.versions("v1", "v1")
			s.kstatus(status.InProgressStatus)
			s.Pause(false)
			s.quiet()
			s.versions("v2", "v2")
		},
		"an abort by hand while it is paused": func(s *teller) {
			s.stable(progressive("p1", 1, "None", 0, false), "c1", "c2")
			s.hangs("v2", "c1")
			s.settle(10 * time.Second)
			s.Pause(true)
			s.AbortByHand()
			s.quiet()
			s.versions("v2", "v1")
			require.NotNil(s.t, s.Object().Status.AbortedTime)
			s.Pause(false)
			s.quiet()
			s.versions("v1", "v1")
		},
		"an abort falls due while it is paused": func(s *teller) {
			s.pausedUntilItFails(true)
			require.Nil(s.t, s.Object().Status.AbortedTime)
			require.Contains(s.t, s.pausedMessage(), "will be aborted after the pause")
			s.versions("v2", "v1")
			s.Pause(false)
			s.quiet()
			require.NotNil(s.t, s.Object().Status.AbortedTime)
			s.versions("v1", "v1")
		},
		"an abort falls due and heals while it is paused": func(s *teller) {
			s.pausedUntilItFails(true)
			require.Contains(s.t, s.pausedMessage(), "will be aborted after the pause")
			s.Tell("agents: c1 gets there after all")
			s.Report("c1", "v2", Succeeds)
			s.quiet()
			s.Pause(false)
			s.quiet()
			require.Nil(s.t, s.Object().Status.AbortedTime)
			s.versions("v2", "v2")
		},
		"without failureStrategy it stalls while it is paused": func(s *teller) {
			s.pausedUntilItFails(false)
			s.kstatus(status.FailedStatus)
			s.Update("v3")
			s.quiet()
			s.kstatus(status.InProgressStatus)
			s.Pause(false)
			s.quiet()
			s.versions("v3", "v3")
		},
		"deleted while it is paused": func(s *teller) {
			s.stable(progressive("p1", 1, "30s", 0, true), "c1", "c2")
			s.Update("v2")
			s.settle(time.Second)
			s.Pause(true)
			s.quiet()
			s.must(s.API.Delete(ReplicaSets, Namespace, Name, nil))
			s.Tell("user: deletes it")
			s.settle(Forever)
			require.Nil(s.t, s.Object())
			require.Empty(s.t, s.Works())
		},
		"a cluster that can't be written back, and a pause": func(s *teller) {
			s.stable(progressive("p1", 3, "30s", 0, true), "c1", "c2", "c3")
			s.Report("c1", "v2", Hangs)
			s.Fault = func(what string) Fault {
				if what == "patch work c2/web" && s.Object().Status.AbortedTime != nil {
					return Denied
				}
				return NoFault
			}
			s.Update("v2")
			s.settle(3 * time.Minute)
			s.Pause(true)
			s.settle(3 * time.Minute)
			s.conditions()
			s.Tell("admin: removes the cause")
			s.Fault = nil
			s.settle(3 * time.Minute)
			s.versions("v1", "v2", "v1")
			s.Pause(false)
			s.quiet()
			s.versions("v1", "v1", "v1")
		},
		"a refused cluster while it is paused": func(s *teller) {
			s.stable(progressive("p1", 1, "3m", 0, true), "c1", "c2")
			s.Refuse("c1", Denied)
			s.Update("v2")
			s.settle(30 * time.Second)
			s.Pause(true)
			s.settle(time.Second)
			s.conditions()
			s.quiet()
			require.Nil(s.t, s.Object().Status.AbortedTime)
			s.Refuse("c1", NoFault)
			s.Pause(false)
			s.quiet()
		},
	})
}

// The works of an older hub are recorded while the object is paused, and get their hashes after the pause.
func TestTakeoverWhileItIsPaused(t *testing.T) {
	s := &teller{World: NewWorld(), t: t}
	s.Away = true
	s.Place("p1", []string{"c1", "c2", "c3"})
	s.Create("v2", progressive("p1", 1, "30s", 0, true))
	s.Upstream("p1", "v1", "c1", "c2", "c3")
	s.Upstream("p1", "v2", "c1")
	s.settle(time.Hour)
	s.Pause(true)
	s.comesBack()
	s.quiet()
	require.Len(t, s.Revisions(), 2)
	require.Equal(t, s.hashOf("v1"), s.Object().Status.CurrentRevision)
	for _, work := range s.Works() {
		require.Empty(t, work.Labels[workv1alpha1.LabelControllerHash])
	}
	s.Edit("keeps no history", func(spec *workv1alpha1.ManifestWorkReplicaSetSpec) {
		none := int32(0)
		spec.RevisionHistoryLimit = &none
	})
	s.quiet()
	s.Pause(false)
	s.quiet()
	s.versions("v2", "v2", "v2")
}

// During a pause, an agent and the hub restart, so neither of them has the works any more. The hub sends the current revision to the
// clusters that had it (R22, P9), and nothing to the others.
func TestWorksLostDuringAPause(t *testing.T) {
	for name, tc := range map[string]struct {
		play     func(*teller)
		restarts []string
		versions []string
	}{
		"every cluster had the current revision": {
			play: func(*teller) {}, restarts: []string{"c1", "c2"}, versions: []string{"v1", "v1", "v1"},
		},
		"in the middle of a rollout, a cluster that waits": {
			play: func(s *teller) { s.Update("v2"); s.settle(time.Second) }, restarts: []string{"c2"}, versions: []string{"v2", "v1", "v1"},
		},
		"in the middle of a rollout, a cluster that had the update revision": {
			play: func(s *teller) { s.Update("v2"); s.settle(time.Second) }, restarts: []string{"c1"}, versions: []string{"", "v1", "v1"},
		},
		"a cluster joined since": {
			play:     func(s *teller) {},
			restarts: []string{"c2", "c4"}, versions: []string{"v1", "", "v1", ""},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := overBroker(t)
			s.Place("p1", []string{"c1", "c2", "c3"})
			s.Create("v1", progressive("p1", 1, "30s", 0, true))
			s.quiet()
			tc.play(s)
			s.Pause(true)
			s.settle(time.Minute)
			if len(tc.versions) > 3 {
				s.Place("p1", []string{"c1", "c2", "c3", "c4"})
			}
			for _, cluster := range tc.restarts {
				s.Network.RestartAgent(cluster)
			}
			s.Restart()
			s.settle(5 * time.Minute)
			var held []string
			for i := range tc.versions {
				held = append(held, s.agentHas(fmt.Sprintf("c%d", i+1)))
			}
			require.Equal(t, tc.versions, held, s.story())
			s.Pause(false)
			s.quiet()
		})
	}
}

// agentHas returns the version that the agent of a cluster holds; empty for none.
func (s *teller) agentHas(cluster string) string {
	for _, work := range s.Network.agent(cluster).works() {
		return Version(work)
	}
	return ""
}
