package simulation

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// TestRefusedRetry: the API server rejects every write of a ControllerRevision, and a user retries an aborted rollout, with or without an
// edit to the template. The conditions report the rejection, no cluster changes, and the hub continues when the API server accepts writes
// again.
func TestRefusedRetry(t *testing.T) {
	byHand := func(s *teller) { s.Retry() }
	fromGit := func(s *teller) { s.RetryByAnnotation(s.Clock.Now()) }
	edited := func(s *teller) { s.Update("v3") }
	for name, story := range map[string]struct {
		retry  func(*teller)
		paused bool
		before func(*teller)
		after  func(*teller)
	}{
		"by hand":          {retry: byHand},
		"from Git":         {retry: fromGit},
		"by hand, paused":  {retry: byHand, paused: true},
		"from Git, paused": {retry: fromGit, paused: true},
		"by hand, paused, and the template waits":  {retry: byHand, paused: true, before: edited},
		"from Git, paused, and the template waits": {retry: fromGit, paused: true, before: edited},
		"by hand, then the template is edited":     {retry: byHand, after: edited},
		"from Git, then the template is edited":    {retry: fromGit, after: edited},
		"by hand, the edited template is refused":  {retry: byHand, before: edited},
		"from Git, the edited template is refused": {retry: fromGit, before: edited},
	} {
		t.Run(name, func(t *testing.T) {
			s := checkedAbort(t, "c1", "c2")
			s.Pause(story.paused)
			s.quiet()

			refused := 0
			s.Fault = func(write string) Fault {
				if !strings.Contains(write, " revision ") {
					return NoFault
				}
				refused++
				return Refused
			}
			s.Report("", "v2", Succeeds)
			for _, step := range []func(*teller){story.before, story.retry, story.after} {
				if step != nil {
					step(s)
					s.settle(time.Minute)
				}
			}
			require.NotZero(t, refused)
			if story.paused || story.before != nil {
				s.everywhere("v1")
			} else {
				s.everywhere("v2") // After 10 s, the ledger in the status is enough.
			}
			applied := meta.FindStatusCondition(s.Object().Status.Conditions, workv1alpha1.ConditionManifestworkApplied)
			require.Contains(t, applied.Message, "Internal error occurred: simulated", s.story())

			s.Fault = nil
			s.Pause(false)
			s.quiet()
			wanted := "v2"
			if story.before != nil || story.after != nil {
				wanted = "v3"
			}
			s.everywhere(wanted)
		})
	}
}
