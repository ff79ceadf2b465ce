package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// TestStoriesOfPausedTemplates plays named stories of templates that are edited while paused, as TestStories does.
func TestStoriesOfPausedTemplates(t *testing.T) {
	playStories(t, map[string]func(*teller){
		"several edits while it is paused are one rollout": func(s *teller) {
			s.stable(progressive("p1", 1, "30s", 0, true), "c1", "c2")
			s.Pause(true)
			s.Update("v2")
			s.quiet()
			s.kstatus(status.InProgressStatus)
			s.Update("v3")
			s.quiet()
			require.Len(s.t, s.Revisions(), 1)
			s.Pause(false)
			s.quiet()
			s.versions("v3", "v3")
			require.Len(s.t, s.Revisions(), 2)
		},
		"an edit that is taken back while it is paused": func(s *teller) {
			s.stable(progressive("p1", 1, "30s", 0, true), "c1", "c2")
			s.Pause(true)
			s.Update("v2")
			s.settle(time.Minute)
			s.Update("v1")
			s.quiet()
			s.Pause(false)
			s.quiet()
			require.Len(s.t, s.Revisions(), 1)
		},
		"an undo while it is paused": func(s *teller) {
			s.stable(progressive("p1", 1, "30s", 0, true), "c1", "c2")
			s.Update("v2")
			s.quiet()
			s.Pause(true)
			s.Edit("keeps no history, and goes back to v1", func(spec *workv1alpha1.ManifestWorkReplicaSetSpec) {
				none := int32(0)
				spec.RevisionHistoryLimit, spec.ManifestWorkTemplate = &none, Template("v1")
			})
			s.quiet()
			s.versions("v2", "v2")
			s.Pause(false)
			s.quiet()
			s.versions("v1", "v1")
		},
		"created paused": func(s *teller) {
			s.Place("p1", []string{"c1", "c2"})
			s.Create("v1", progressive("p1", 1, "30s", 0, true))
			s.Pause(true)
			s.quiet()
			require.Empty(s.t, s.Works())
			require.Len(s.t, s.Revisions(), 1)
			s.Update("v2")
			s.quiet()
			require.Len(s.t, s.Revisions(), 1)
			s.Pause(false)
			s.quiet()
			s.versions("v2", "v2")
		},
		"a template that no agent could apply while it is paused": func(s *teller) {
			s.stable(progressive("p1", 1, "30s", 0, true), "c1", "c2")
			s.Pause(true)
			s.quiet()
			s.patch(ReplicaSets, Namespace, Name, map[string]any{
				"spec": map[string]any{"manifestWorkTemplate": map[string]any{"workload": map[string]any{"manifests": []any{}}}},
			}, false)
			s.Tell("user: empties the template")
			s.settle(time.Minute)
			s.conditions()
			require.NotEmpty(s.t, s.pausedMessage())
			s.Pause(false)
			s.settle(time.Minute)
			s.conditions()
			require.Empty(s.t, s.pausedMessage())
			s.Update("v2")
			s.quiet()
		},
		"no permission on ControllerRevisions, and an edit while it is paused": func(s *teller) {
			s.API.NoHistory = true
			s.Place("p1", []string{"c1", "c2"})
			s.Create("v1", progressive("p1", 1, "30s", 0, true))
			s.settle(time.Minute)
			s.Pause(true)
			s.Update("v2")
			s.settle(time.Minute)
			s.conditions()
			s.restarts()
			s.settle(time.Minute)
			s.versions("v1", "v1")
			s.Tell("admin: grants the permission")
			s.API.NoHistory = false
			s.settle(time.Minute)
			s.conditions()
			s.Pause(false)
			s.quiet()
			s.versions("v2", "v2")
		},
	})
}
