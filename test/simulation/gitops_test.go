package simulation

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	workv1 "open-cluster-management.io/api/work/v1"
)

const (
	syncOptions    = "argocd.argoproj.io/sync-options"
	compareOptions = "argocd.argoproj.io/compare-options"
)

func (s *teller) kept(works []*workv1.ManifestWork) {
	s.t.Helper()
	require.NotEmpty(s.t, works)
	for _, work := range works {
		require.Equal(s.t, "Prune=false", work.Annotations[syncOptions], "%s\n%s", work.Namespace, s.story())
		require.Equal(s.t, "IgnoreExtraneous", work.Annotations[compareOptions], work.Namespace)
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
