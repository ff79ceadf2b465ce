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

// TestRunbook: a rollout that is in trouble leads to a section of the runbook that exists, and no other rollout does.
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
		"a-cluster-does-not-follow":    in(workv1alpha1.StateRollingOut),
		"the-hub-does-not-run": func(o *view.Objects) {
			o.ReplicaSet.Generation, o.ReplicaSet.CreationTimestamp = 1, metav1.NewTime(o.Now.Add(-time.Hour))
		},
	} {
		o := fleet(t, "9", "10m")
		change(o)
		found := view.Of(o).Runbook
		require.Equal(t, view.Runbook(section), found)
		require.True(t, headings[section], "docs/runbook.md has no section %s", section)
		require.Equal(t, "docs/runbook.md#"+section, found.Path())
	}
	require.Empty(t, view.Of(objects(t, in(workv1alpha1.StateRollingOut))).Runbook)
	require.Empty(t, view.Of(objects(t, in(workv1alpha1.StateComplete))).Runbook)
}

// TestHealth: the bar of a list shows what the clusters are, whatever the revision is that they are to have.
func TestHealth(t *testing.T) {
	for name, tc := range map[string]struct {
		change        func(*workv1alpha1.ManifestWorkReplicaSetStatus)
		healthy, sick int
	}{
		"complete": {func(s *workv1alpha1.ManifestWorkReplicaSetStatus) { s.Summary.Updated = 20 }, 20, 0},
		"stalled": {func(s *workv1alpha1.ManifestWorkReplicaSetStatus) {
			s.State, s.Summary.Updated, s.Summary.Failed = workv1alpha1.StateStalled, 12, 3
		}, 12, 3},
		"some degraded, before an abort": {func(s *workv1alpha1.ManifestWorkReplicaSetStatus) {
			s.State, s.Summary.Updated, s.Summary.Degraded = workv1alpha1.StateRollingOut, 12, 3
		}, 12, 3},
		"aborted, and back": {func(s *workv1alpha1.ManifestWorkReplicaSetStatus) {
			s.AbortedTime, s.Summary.Applied, s.Summary.Available = &metav1.Time{Time: now}, 20, 20
		}, 20, 0},
		"aborted, one offline, two sick": {func(s *workv1alpha1.ManifestWorkReplicaSetStatus) {
			s.AbortedTime, s.Summary.Applied, s.Summary.Available, s.Summary.Degraded = &metav1.Time{Time: now}, 19, 20, 2
		}, 19, 2},
	} {
		o := objects(t)
		tc.change(&o.ReplicaSet.Status)
		row := view.RowOf(o.ReplicaSet)
		require.Equal(t, []int{tc.healthy, tc.sick}, []int{row.Healthy, row.Sick}, name)
	}
}
