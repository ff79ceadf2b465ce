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
