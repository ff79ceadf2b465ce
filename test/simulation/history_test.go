package simulation

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/utils/ptr"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// remembers puts as many older revisions into the history as a hub without the bound kept: old001 is the oldest. Today's has the largest number.
func (s *teller) remembers(n int) {
	s.t.Helper()
	today, owner := s.Revisions()[0], s.Object()
	for i := 1; i <= n; i++ {
		template := Template(fmt.Sprintf("old%03d", i))
		old, err := revision.New(owner, &template, fmt.Sprintf("old%03d", i), int64(i))
		s.must(err)
		_, err = s.API.Create(Revisions, from(old))
		s.must(err)
	}
	patch, err := json.Marshal(map[string]any{"revision": n + 1})
	s.must(err)
	_, err = s.API.Patch(Revisions, Namespace, today.Name, patch, false)
	s.must(err)
	s.Tell("admin: installs a newer hub where %d older revisions are kept", n)
}

func (s *teller) keepsOlder(limit int32) {
	s.Edit(fmt.Sprintf("sets revisionHistoryLimit to %d", limit), func(spec *workv1alpha1.ManifestWorkReplicaSetSpec) {
		spec.RevisionHistoryLimit = ptr.To(limit)
	})
}

// TestStoredHistoryLimitAboveTheBound: of an object that an older CRD stored with a larger revisionHistoryLimit, 100 counts. The upgrade deletes the
// oldest revisions above it, once, and touches no cluster; Progressing says so for as long as the spec has it; the rest of the history works (R5).
func TestStoredHistoryLimitAboveTheBound(t *testing.T) {
	s := &teller{World: NewWorld(), t: t}
	s.Place("p1", []string{"c1", "c2"})
	s.Create("v1", all("p1", "30s", true))
	s.quiet()
	s.Away = true
	s.keepsOlder(500)
	s.remembers(150)
	generation := s.Works()[0].Generation
	s.Check = func(write string) { s.must(s.CheckWrite(write)) }
	s.Upgrade()
	s.quiet()

	kept := s.Revisions()
	require.Len(t, kept, workv1alpha1.MaxRevisionHistoryLimit+1)
	require.Equal(t, Name+"-old051", kept[0].Name, "the oldest go")
	require.Equal(t, 50, counts(s.events)[workv1alpha1.EventRevisionPruned])
	s.warned(workv1alpha1.EventRevisionPruned, "web-old050", "spec.revisionHistoryLimit is 500, and at most 100 old revisions are kept")
	const said = "spec.revisionHistoryLimit is 500 and 100 counts: of the old revisions the newest 100 are kept; set it to at most 100"
	s.says(workv1alpha1.ConditionProgressing, "is successfully progressed", said)
	s.says(workv1alpha1.ConditionManifestworkApplied, "2 clusters as wanted")
	require.Equal(t, generation, s.Works()[0].Generation)
	s.idle()
	s.Tell("the hub restarts")
	s.Restart()
	s.idle()

	s.Update("old051")
	s.quiet()
	s.everywhere("old051")
	require.Len(t, s.Revisions(), workv1alpha1.MaxRevisionHistoryLimit+1)
	s.Update("v2")
	s.quiet()
	require.Len(t, s.Revisions(), workv1alpha1.MaxRevisionHistoryLimit+1)
	s.says(workv1alpha1.ConditionProgressing, said)

	s.keepsOlder(100)
	s.settle(time.Minute)
	require.NotContains(t, s.says(workv1alpha1.ConditionProgressing).Message, "revisionHistoryLimit", strings.Join(s.Story, "\n"))
	require.Len(t, s.Revisions(), workv1alpha1.MaxRevisionHistoryLimit+1)
	s.quiet()
}
