package simulation

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

const (
	syncOptions    = "argocd.argoproj.io/sync-options"
	compareOptions = "argocd.argoproj.io/compare-options"
	tracked        = "argocd.argoproj.io/instance"
)

func (s *teller) kept(works []*workv1.ManifestWork) {
	s.t.Helper()
	require.NotEmpty(s.t, works)
	for _, work := range works {
		require.Equal(s.t, "Prune=false", work.Annotations[syncOptions], "%s\n%s", work.Namespace, s.story())
		require.Equal(s.t, "IgnoreExtraneous", work.Annotations[compareOptions], work.Namespace)
		require.NotContains(s.t, work.Labels, tracked, work.Namespace)
	}
}

// asOlder changes the works to those of a release that did not protect them and that copied every label, and restarts the hub.
func (s *teller) asOlder() {
	for _, work := range s.Works() {
		s.patch(Works, work.Namespace, work.Name, map[string]any{"metadata": map[string]any{
			"annotations": map[string]any{syncOptions: nil, compareOptions: nil, workv1alpha1.AnnotationCopiedLabels: tracked},
			"labels":      map[string]any{tracked: "web"},
		}}, false)
	}
	s.patch(ReplicaSets, Namespace, Name, map[string]any{"metadata": map[string]any{"labels": map[string]any{tracked: "web"}}}, false)
	s.Tell("the hub is upgraded")
	s.Restart()
}

// Works of an older release are protected at any stage of the story by a write of their metadata. No cluster is restarted, no deadline
// starts again, nothing else in the story changes, and no further write follows.
func TestUpgradeProtectsWorksFromPruning(t *testing.T) {
	for name, stage := range map[string]struct {
		before func(*teller)
		// settled is true if the hub writes nothing besides the protection of the works.
		settled bool
	}{
		"complete": {before: func(s *teller) { s.quiet() }, settled: true},
		"rolling out": {before: func(s *teller) {
			s.quiet()
			s.Report("c1", "v2", Silent)
			s.Update("v2")
			s.settle(10 * time.Second)
		}},
		"stalled": {before: func(s *teller) {
			s.Edit("takes failureStrategy out", func(spec *workv1alpha1.ManifestWorkReplicaSetSpec) {
				spec.PlacementRefs[0].RolloutStrategy.FailureStrategy = ""
			})
			s.quiet()
			s.hangs("v2", "")
			s.quiet()
		}, settled: true},
		"aborted": {before: func(s *teller) {
			s.quiet()
			s.hangs("v2", "")
			s.quiet()
		}, settled: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := &teller{World: NewWorld(), t: t}
			s.Place("p1", []string{"c1", "c2", "c3"})
			s.Create("v1", progressive("p1", 1, "30s", 0, true))
			stage.before(s)
			before := s.Works()
			s.kept(before)
			s.asOlder()
			events := len(s.events)
			s.settle(5 * time.Second)
			s.kept(s.Works())
			for i, work := range s.Works() {
				require.Equal(t, before[i].Generation, work.Generation, s.story())
				require.Equal(t, before[i].Annotations[workv1alpha1.AnnotationAppliedAt], work.Annotations[workv1alpha1.AnnotationAppliedAt])
				require.Empty(t, work.Annotations[workv1alpha1.AnnotationCopiedLabels])
			}
			if stage.settled {
				require.Len(t, s.events, events, s.story())
				s.must(s.checkSilence())
			}
			s.quiet()
		})
	}
}

// If a user removes the annotation, a tool must still not delete the work: the hub restores the annotation.
func TestProtectionFromPruningIsPutBack(t *testing.T) {
	s := &teller{World: NewWorld(), t: t}
	s.stable(all("p1", "30s", true), "c1", "c2")
	before := s.Works()
	s.patch(Works, "c1", Name, map[string]any{"metadata": map[string]any{"annotations": map[string]any{syncOptions: nil, compareOptions: "Other"}}}, false)
	s.settle(time.Second)
	works := s.Works()
	require.Equal(t, "Prune=false", works[0].Annotations[syncOptions])
	require.Equal(t, "Other,IgnoreExtraneous", works[0].Annotations[compareOptions])
	require.Equal(t, before[0].Generation, works[0].Generation)
	s.quiet()
}

// P7: if a webhook removes the annotations, the hub does not write them in each pass. It adds them after the webhook is gone.
func TestProtectionFromPruningThatAWebhookTakesAway(t *testing.T) {
	s := &teller{World: NewWorld(), t: t}
	s.API.Strip = []string{syncOptions}
	s.Place("p1", []string{"c1", "c2"})
	s.Create("v1", all("p1", "30s", true))
	s.settle(time.Minute)
	require.LessOrEqual(t, s.patchesIn(10*time.Minute), 2*3, "two works in ten minutes")
	s.Update("v2")
	s.settle(time.Minute)
	s.everywhere("v2")
	s.API.Strip = nil
	s.quiet()
	s.kept(s.Works())
}

// patchesIn makes a pass every ten seconds, as events do, and returns the number of patches of works in this time.
func (s *teller) patchesIn(during time.Duration) (patches int) {
	s.Fault = func(what string) Fault {
		if strings.HasPrefix(what, "patch work ") {
			patches++
		}
		return NoFault
	}
	for range during / (10 * time.Second) {
		s.due = true
		s.settle(10 * time.Second)
	}
	return patches
}
