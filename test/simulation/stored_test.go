package simulation

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// storesOtherwise makes the API server change every written work, as a webhook or an older CRD does.
func (s *teller) storesOtherwise() {
	s.API.Mutate = func(spec map[string]any) { spec["deleteOption"] = map[string]any{"propagationPolicy": "Orphan"} }
}

// writtenOnce checks, from its call on, that no work is written twice with the same version and the same kept objects.
func (s *teller) writtenOnce() {
	written := map[string]string{}
	s.Check = func(write string) {
		if !strings.Contains(write, " work ") {
			return
		}
		for _, work := range s.Works() {
			of := fmt.Sprint(work.UID, Version(work), keptObjects(work))
			at := work.Annotations[workv1alpha1.AnnotationAppliedAt]
			if before, known := written[of]; known && before != at {
				s.Tell("%s: %s was written with %s before, at %s", write, work.Namespace, Version(work), before)
				s.t.Fatal(s.story())
			}
			written[of] = at
		}
	}
}

// R10, P5, P7: if the API server stores works differently than they were written, a hub that restarts after any write does not write a work
// again or restart a deadline. The same applies in a handover.
func TestRestartWhereWorksAreStoredOtherwise(t *testing.T) {
	for name, drops := range map[string]bool{"one revision": false, "in a handover": true} {
		t.Run(name, func(t *testing.T) {
			for kill := 1; ; kill++ {
				s, writes := &teller{World: NewWorld(), t: t}, 0
				s.Drops = drops
				s.storesOtherwise()
				s.writtenOnce()
				s.Fault = func(string) Fault {
					if writes++; writes == kill {
						return KilledAfter
					}
					return NoFault
				}
				s.Restart()
				s.Place("p1", []string{"c1", "c2"})
				s.Create("v1", progressive("p1", 1, "30s", 0, false))
				s.settle(Forever)
				s.Update("v2")
				s.settle(Forever)
				s.everywhere("v2")
				require.Equal(t, s.Object().Status.UpdateRevision, s.Object().Status.CurrentRevision, s.story())
				version := s.API.version
				s.Restart()
				s.settle(Forever)
				require.Equal(t, version, s.API.version, s.story())
				if writes < kill {
					return
				}
			}
		})
	}
}

// R10, R11: restarts do not postpone a deadline if works are stored differently.
func TestDeadlineWhereWorksAreStoredOtherwise(t *testing.T) {
	s := &teller{World: NewWorld(), t: t}
	s.storesOtherwise()
	s.Place("p1", []string{"c1", "c2"})
	s.Create("v1", progressive("p1", 1, "10m", 0, true))
	s.settle(Forever)
	s.hangs("v2", "c1")
	s.settle(time.Second)
	began := s.Clock.Now()
	for range 3 {
		s.settle(2*time.Minute + 30*time.Second)
		s.restarts()
	}
	s.settle(2*time.Minute + 40*time.Second)
	require.NotNil(t, s.Object().Status.AbortedTime, s.story())
	require.WithinDuration(t, began.Add(10*time.Minute), s.Object().Status.AbortedTime.Time, 3*time.Second)
}

// R10: a later edit of such a work is not the API server's change, and is reverted.
func TestEditWhereWorksAreStoredOtherwise(t *testing.T) {
	s := &teller{World: NewWorld(), t: t}
	s.storesOtherwise()
	s.Place("p1", []string{"c1", "c2"})
	s.Create("v1", progressive("p1", 2, "10m", 0, true))
	s.settle(Forever)
	edited := Template("edited")
	s.patch(Works, "c1", Name, map[string]any{"spec": from(&edited).Object}, false)
	s.Restart()
	s.settle(Forever)
	s.everywhere("v1")
}

// R10: a user who edits a work and forges the annotation about the API server's change keeps the edit on that cluster, and the condition
// names it. The edit does not become history, and the next revision is still rolled out to the cluster.
func TestForgedAcceptanceCountsForItsClusterOnly(t *testing.T) {
	s := &teller{World: NewWorld(), t: t}
	s.Place("p1", []string{"c1", "c2"})
	s.Create("v1", progressive("p1", 2, "10m", 0, true))
	s.settle(Forever)
	original, forged := Template("v1"), Template("forged")
	asked, err := revision.DigestOf(&original)
	s.must(err)
	stored, err := revision.DigestOf(&forged)
	s.must(err)
	s.patch(Works, "c1", Name, map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{workv1alpha1.AnnotationAccepted: string(asked + "/" + stored)}},
		"spec":     from(&forged).Object,
	}, false)
	s.Restart()
	s.settle(time.Minute)
	require.Equal(t, "forged", s.held("c1"))
	require.Equal(t, "v1", s.held("c2"))
	s.says(workv1alpha1.ConditionManifestworkApplied, "stored 1 ManifestWorks with changes", "c1/web")
	require.Len(t, s.Revisions(), 1)
	s.Update("v2")
	s.settle(Forever)
	s.everywhere("v2")
}
