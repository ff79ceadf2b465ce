package view_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
)

// TestRunbook: a rollout with a problem leads to an existing section of the runbook, and no other rollout leads to a section.
func TestRunbook(t *testing.T) {
	page, err := os.ReadFile("../../../docs/runbook.md")
	require.NoError(t, err)
	headings := map[string]bool{}
	for _, found := range regexp.MustCompile("(?m)^## (.*)$").FindAllStringSubmatch(string(page), -1) {
		headings[strings.NewReplacer(" ", "-", "'", "").Replace(strings.ToLower(found[1]))] = true
	}
	in := func(state workv1alpha1.State) func(*view.Objects) {
		return func(o *view.Objects) { o.ReplicaSet.Status.State = state }
	}
	for section, change := range map[string]func(o *view.Objects){
		"a-rollout-was-aborted":        in(workv1alpha1.StateAborted),
		"a-rollout-is-stalled":         in(workv1alpha1.StateStalled),
		"an-object-cant-be-rolled-out": in(workv1alpha1.StateInvalid),
		"an-object-is-paused":          in(workv1alpha1.StatePaused),
		"a-cluster-does-not-follow":    in(workv1alpha1.StateRollingOut),
		"the-hub-does-not-run": func(o *view.Objects) {
			o.ReplicaSet.Generation, o.ReplicaSet.CreationTimestamp = 1, metav1.NewTime(o.Now.Add(-time.Hour))
		},
	} {
		o := fleet(t, "9", "10m")
		change(o)
		found := view.FleetOf(o).Runbook
		require.Equal(t, view.Runbook(section), found)
		require.True(t, headings[section], "docs/runbook.md has no section %s", section)
		require.Equal(t, "docs/runbook.md#"+section, found.Path())
	}
	require.Empty(t, view.FleetOf(objects(t, in(workv1alpha1.StateRollingOut))).Runbook)
	require.Empty(t, view.FleetOf(objects(t, in(workv1alpha1.StateComplete))).Runbook)
}
