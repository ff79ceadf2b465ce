package integration

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// transitions are the states that the ManifestWorkReplicaSet went through, each on a line: the reasons of PlacementVerified,
// ManifestworkApplied, Progressing and PlacementRolledOut, and the versions of the current and of the update revision.
func (f *fleet) transitions() []string {
	f.t.Helper()
	versions := map[string]string{"": "-"}
	revisions := f.revisions()
	for i := range revisions {
		versions[revisions[i].Labels[workv1alpha1.LabelControllerHash]] = versionOfRevision(&revisions[i])
	}
	var lines []string
	for _, seen := range f.w.history.seenOf(f) {
		if seen.reasons == [4]string{} {
			continue // Nobody has looked at it yet.
		}
		line := ""
		for _, reason := range seen.reasons {
			line += reason + " "
		}
		lines = append(lines, line+versions[seen.current]+" "+versions[seen.update]+suffix(seen.aborted))
	}
	return lines
}

func suffix(word string) string {
	if word == "" {
		return ""
	}
	return " " + word
}

// The transition tables, row by row. A watch records every state that is written; what was recorded has to be
// the wanted rows and nothing else, in this order: a state that is not in the table, one that is skipped, and one that flaps
// back all fail.
func TestTransitions(t *testing.T) {
	t.Parallel()
	const (
		created   = "AsExpected=True Processing=False NewRevisionCreated=True Progressing=False "
		found     = "AsExpected=True Processing=False FoundNewRevision=True Progressing=False "
		complete  = "AsExpected=True AsExpected=True NewManifestWorkAvailable=False Complete=True "
		failed    = "AsExpected=True NotAsExpected=False ProgressDeadlineExceeded=False RolloutDegraded=False "
		abortions = "AsExpected=True NotAsExpected=False ProgressDeadlineExceeded=False Progressing=False "
		aborted   = "AsExpected=True NotAsExpected=False RolloutAborted=False RolloutDegraded=False "
	)
	for name, story := range map[string]struct {
		play func(f *fleet)
		want []string
	}{
		"first": {func(*fleet) {}, nil},
		"update": {func(f *fleet) {
			f.update("v2")
			f.complete()
		}, []string{created + "v1 v2", complete + "v2 v2"}},
		"undo": {func(f *fleet) {
			f.update("v2")
			f.complete()
			f.update("v1")
			f.complete()
		}, []string{created + "v1 v2", complete + "v2 v2", found + "v2 v1", complete + "v1 v1"}},
		"failed": {func(f *fleet) {
			f.abortAll(false)
			f.agentsReport("", "v2", hangs)
			f.update("v2")
			f.stalled()
		}, []string{created + "v1 v2", failed + "v1 v2"}},
		"healed": {func(f *fleet) {
			f.abortAll(false)
			f.agentsReport("c2", "v2", hangs)
			f.update("v2")
			f.stalled()
			f.agentsReport("c2", "v2", succeeds)
			f.complete()
		}, []string{created + "v1 v2", failed + "v1 v2", created + "v1 v2", complete + "v2 v2"}},
		"aborted": {func(f *fleet) {
			f.agentsReport("", "v2", degrades)
			f.update("v2")
			f.aborted()
		}, []string{created + "v1 v2", abortions + "v1 v2 aborted", aborted + "v1 v2 aborted"}},
		"abortedthennew": {func(f *fleet) {
			f.agentsReport("", "v2", hangs)
			f.update("v2")
			f.aborted()
			f.update("v3")
			f.complete()
		}, []string{
			created + "v1 v2", abortions + "v1 v2 aborted", aborted + "v1 v2 aborted",
			created + "v1 v3", complete + "v3 v3",
		}},
		"abortedthenundo": {func(f *fleet) {
			f.agentsReport("", "v2", hangs)
			f.update("v2")
			f.aborted()
			f.update("v1")
			f.complete()
		}, []string{
			created + "v1 v2", abortions + "v1 v2 aborted", aborted + "v1 v2 aborted",
			found + "v1 v1", complete + "v1 v1",
		}},
		"failedundo": {func(f *fleet) { // R12: the hub does not go back to what was left, a person may.
			f.update("v2")
			f.complete()
			f.agentsReport("", "v1", hangs)
			f.update("v1")
			f.stalled()
			f.abortByHand()
			f.aborted()
		}, []string{
			created + "v1 v2", complete + "v2 v2",
			found + "v2 v1", failed + "v2 v1",
			failed + "v2 v1 aborted", // What the person wrote.
			abortions + "v2 v1 aborted", aborted + "v2 v1 aborted",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, 3)
			f.place("p1", []string{"c1", "c2", "c3"})
			f.create("v1", ref("p1", progressive(1, "2s", 0, abortAll)))
			f.complete()
			story.play(f)
			f.quiet()
			require.Equal(t, slices.Concat([]string{created + "- v1", complete + "v1 v1"}, story.want), f.transitions())
		})
	}
}

// abortAll reports whether a failure leads to an abort.
func (f *fleet) abortAll(yes bool) {
	f.t.Helper()
	f.edit(func(mwrs *workv1alpha1.ManifestWorkReplicaSet) {
		mwrs.Spec.PlacementRefs[0].RolloutStrategy.FailureStrategy = ""
		if yes {
			mwrs.Spec.PlacementRefs[0].RolloutStrategy.FailureStrategy = workv1alpha1.AbortAll
		}
	})
}

// The counts, while a rollout is on its way.
func TestSummaryCounts(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 4)
	f.place("p1", []string{"c1", "c2"})
	f.place("p2", []string{"c3", "c4"})
	f.create("v1", ref("p1", all("30s", 0)), ref("p2", progressive(1, "30s", 0)))
	f.complete()
	f.agentsReport("c2", "v2", hangs)
	f.agentsReport("c3", "v2", degrades)
	f.update("v2")
	f.has("c3", "v2")
	f.quiet()
	summary := f.get().Status.Summary
	require.Equal(t, 4, summary.Total)
	require.Equal(t, 4, summary.DesiredTotal)
	require.Equal(t, 4, summary.Applied)
	require.Equal(t, 4, summary.Available)
	require.Equal(t, 1, summary.Degraded)
	require.Equal(t, 2, summary.Progressing)
	require.Equal(t, 1, summary.Updated)
	placements := f.get().Status.PlacementsSummary
	require.Equal(t, "p1", placements[0].Name)
	require.Equal(t, "1 (2 / 2 clusters applied)", placements[0].AvailableDecisionGroups)
	require.Equal(t, 1, placements[0].Summary.Updated)
	require.Zero(t, placements[1].Summary.Updated)
	require.Equal(t, 1, placements[1].Summary.Degraded)
}
