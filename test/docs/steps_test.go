package docs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// step holds the preparation for a block with a name, the replacement of the page's values, and the check of the result.
type step struct {
	before func(t *testing.T)
	edit   func(t *testing.T, commands string) string
	after  func(t *testing.T, output string)
}

func (h *hub) steps() map[string]step {
	return map[string]step{
		// docs/install.md
		"apply":    {after: h.isInstalled},
		"verify":   {after: h.isVerified},
		"try":      {after: func(t *testing.T, _ string) { h.isEverywhere(t, "v1") }},
		"gate-off": {after: h.upgradesWithoutValues},
		"gate-on":  {after: h.goesOnAfterTheUpgrade},
		// docs/plugin.md
		"doctor": {edit: tolerant, after: h.shows("crd-complete", "IgnoredField")},
		// docs/operations.md
		"roll-out":      {after: func(t *testing.T, _ string) { h.isEverywhere(t, "v2") }},
		"history":       {after: h.listsHistory},
		"states":        {after: h.listsStates},
		"choose":        {after: h.choosesRevision},
		"undo":          {edit: h.withHash, after: h.isUndone},
		"retry":         {before: h.aborts("v3"), after: h.isRetried},
		"abort-by-hand": {before: h.rollsOut("v4", workv1alpha1.ReasonNewRevisionCreated), after: h.isAbortedByHand},
		"abort-named":   {before: h.rollsOut("v4", workv1alpha1.ReasonFoundNewRevision), after: h.namesWhoAborted},
		"pause":         {after: h.isPaused},
		"resume":        {after: h.isResumed},
		"hold":          {after: h.isHeld},
		"go-on":         {after: h.goesOn},
		"delete-work":   {before: h.rememberWork, after: h.worksAgain},
		// docs/safe-rollouts.md
		"no-abort":    {after: func(t *testing.T, _ string) { h.failureStrategyIs(t, "") }},
		"window":      {after: h.windowIsSet},
		"abort-again": {after: func(t *testing.T, _ string) { h.failureStrategyIs(t, workv1alpha1.AbortAll) }},
		// docs/runbook.md
		"look":          {before: h.aborts("v5"), after: h.shows("Aborted", "DeadlineExceeded", "kubectl mwrs undo web")},
		"look-without":  {after: h.shows("Aborted", "RolloutAborted")},
		"aborted":       {edit: h.differs, after: h.shows("Aborted", "cluster1", "version: v1", "version: v5")},
		"undo-plugin":   {edit: forced, after: func(t *testing.T, _ string) { h.isBack(t) }},
		"undo-aborted":  {before: h.aborts("v5"), after: func(t *testing.T, _ string) { h.isBack(t) }},
		"retry-plugin":  {before: h.aborts("v5"), after: h.failsAgain},
		"over":          {after: func(t *testing.T, _ string) { h.isEverywhere(t, "v1") }},
		"restoring":     {before: h.abortsWhileOffline, after: h.restoresOnReturn},
		"stalled":       {before: h.stalls, after: h.shows("Stalled", "cluster1", "does not change until a user acts")},
		"abort-stalled": {after: h.leavesTheStall},
		"paused":        {before: h.pauses, after: h.resumes},
		"behind":        {before: h.fallsBehind, after: h.catchesUp},
		"hub-away":      {before: h.goesAway, edit: tolerant, after: h.returns},
		"deleting":      {before: h.deletesAnother, edit: another, after: h.deletionEnds},
		// docs/rbac.md
		"bind-role":  {after: func(t *testing.T, output string) { require.Contains(t, output, "yes\nno\n") }},
		"let-view":   {after: h.letsView},
		"abort-only": {after: h.mayOnlyAbort},
		"see-works":  {after: h.seesWorks},
		// docs/upgrade.md
		"image":         {before: h.upgradesWithValues, after: h.namesThisHub},
		"crd-version":   {after: func(t *testing.T, output string) { require.Equal(t, "1000.0.0\n", output) }},
		"apply-again":   {before: h.loseTheCRD, after: h.knowsAborts},
		"lost-strategy": {after: func(t *testing.T, output string) { require.Regexp(t, `default +web +<none>`, output) }},
		"missing":       {before: h.loseTheRights, after: func(t *testing.T, output string) { require.Contains(t, output, "default/web: ") }},
		"remedy":        {after: h.hasHistoryAgain},
		// docs/remove.md
		"downgrade": {before: h.stopThisHub, after: h.isUpstreams},
		"traces":    {before: h.waitsForPolicies, after: h.bearsNoTraces},
		"workloads": {after: h.isEmpty},
		// docs/cloudevents.md
		"broker":       {edit: h.withBroker, after: h.usesBroker},
		"broker-flags": {after: h.showsDriver},
	}
}

func (h *hub) get(t *testing.T) *workv1alpha1.ManifestWorkReplicaSet {
	t.Helper()
	mwrs, err := h.ReplicaSets.WorkV1alpha1().ManifestWorkReplicaSets("default").Get(t.Context(), "web", metav1.GetOptions{})
	require.NoError(t, err)
	return mwrs
}

// versions returns the versions of the clusters' works.
func (h *hub) versions(t *testing.T) []string {
	t.Helper()
	printed := h.shell(t, `kubectl get manifestworks -A -l work.open-cluster-management.io/manifestworkreplicaset=default.web `+
		`-o jsonpath='{range .items[*]}{.spec.workload.manifests[0].data.version}{"\n"}{end}'`)
	return strings.Fields(printed)
}

// isEverywhere requires that both clusters have a version, and that the hub reports it as stable.
func (h *hub) isEverywhere(t *testing.T, version string) {
	t.Helper()
	require.Equal(t, []string{version, version}, h.versions(t))
	mwrs := h.get(t)
	require.NotEmpty(t, mwrs.Status.CurrentRevision)
	require.Equal(t, mwrs.Status.UpdateRevision, mwrs.Status.CurrentRevision)
	require.Nil(t, mwrs.Status.AbortedTime)
}

func (h *hub) isInstalled(t *testing.T, output string) {
	for _, object := range []string{"clustermanager", "customresourcedefinition", "clusterrole.", "clusterrolebinding."} {
		require.Contains(t, output, object)
	}
	require.NoError(t, h.Operator.WaitApplied(t.Context()))
	waiting, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, h.kubelet.WaitRunning(waiting))
}

func (h *hub) isVerified(t *testing.T, output string) {
	for _, said := range []string{"True\n", "registry.example.com/work:v1.0.0\n", "abortedTime is the time", "1000.0.0\n"} {
		require.Contains(t, output, said)
	}
	require.Equal(t, 7, strings.Count(output, "yes\n"))
}

func (h *hub) listsHistory(t *testing.T, output string) {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	require.Len(t, lines, 3)
	status := h.get(t).Status
	require.Contains(t, lines[2], "web-"+status.UpdateRevision, "the last one is today's")
	require.Equal(t, "2", strings.Fields(lines[2])[2])
}

// listsStates: every cluster has the newest revision, which has the user's change cause. No cluster has the previous revision.
func (h *hub) listsStates(t *testing.T, output string) {
	status := h.get(t).Status
	require.Len(t, status.Revisions, 2)
	require.Contains(t, output, "web-"+status.UpdateRevision+"\tAvailable\t2\tversion v2\n")
	require.Contains(t, output, status.Revisions[1].Name+"\tArchived\t0\t\n")
	for _, field := range []string{"name", "state", "clusters", "lastRolledOutTime", "abortReason", "changeCause"} {
		require.Regexp(t, `(?m)^ +`+field+`\t<`, output)
	}
}

// isUndone: the revision of v1 is current again under a new number, and no revision was created.
func (h *hub) isUndone(t *testing.T, _ string) {
	h.isEverywhere(t, "v1")
	revisions := h.revisions(t)
	require.Len(t, revisions, 2)
	require.EqualValues(t, 3, revisions[1].Revision)
	require.Equal(t, h.get(t).Status.CurrentRevision, revisions[1].Labels[workv1alpha1.LabelControllerHash])
}

func (h *hub) revisions(t *testing.T) []appsv1.ControllerRevision {
	t.Helper()
	list, err := h.Kube.AppsV1().ControllerRevisions("default").List(t.Context(), metav1.ListOptions{LabelSelector: workv1alpha1.LabelReplicaSet})
	require.NoError(t, err)
	slices.SortFunc(list.Items, func(a, b appsv1.ControllerRevision) int { return int(a.Revision - b.Revision) })
	return list.Items
}

func (h *hub) isAborted(t *testing.T, output string) {
	status := h.get(t).Status
	require.Contains(t, output, "web-"+status.UpdateRevision+" was aborted")
	require.Contains(t, output, "back to revision web-"+status.CurrentRevision)
	require.NotNil(t, status.AbortedTime)
	require.Equal(t, []string{"v1", "v1"}, h.versions(t))
}

func (h *hub) isAbortedByHand(t *testing.T, output string) {
	h.isAborted(t, output)
	require.Contains(t, output, "field manager kubectl-patch set status.abortedTime")
	h.restores(t)
}

// isRetried: the same revision is rolled out again. The clusters were not repaired, so it is aborted again.
func (h *hub) isRetried(t *testing.T, _ string) {
	eventually(t, "the retry", func() error {
		revisions := h.revisions(t)
		if revision.RecordOf(&revisions[len(revisions)-1]).Retried.IsZero() {
			return errors.New("the newest revision records no retry")
		}
		return nil
	})
	eventually(t, "the second abort", func() error {
		found := meta.FindStatusCondition(h.get(t).Status.Conditions, workv1alpha1.ConditionProgressing)
		if found.Reason != workv1alpha1.ReasonRolloutAborted || h.get(t).Status.AbortedTime == nil {
			return fmt.Errorf("%s: %s", found.Reason, found.Message)
		}
		return nil
	})
}

func (h *hub) failureStrategyIs(t *testing.T, wanted workv1alpha1.FailureStrategy) {
	require.Equal(t, wanted, h.get(t).Spec.PlacementRefs[0].RolloutStrategy.FailureStrategy)
}

// namesWhoAborted checks that the hub keeps abortedBy and abortReason.
func (h *hub) namesWhoAborted(t *testing.T, _ string) {
	h.waitsFor(t, workv1alpha1.ReasonRolloutAborted)
	status := h.get(t).Status
	require.Equal(t, []string{"alice", "v4 leaks memory"}, []string{status.AbortedBy, status.AbortReason})
	h.restores(t)
}

// windowIsSet removes the setting for the later pages.
func (h *hub) windowIsSet(t *testing.T, _ string) {
	require.EqualValues(t, 3, *h.get(t).Spec.RollbackWindow.Revisions)
	h.shell(t, `kubectl patch mwrs web --type=merge -p '{"spec": {"rollbackWindow": null}}'`)
}

func (h *hub) isPaused(t *testing.T, output string) {
	require.Contains(t, output, "spec.paused is true: the hub does not create, change or delete ManifestWorks; no changes are held back")
}

func (h *hub) isResumed(t *testing.T, _ string) {
	require.Nil(t, meta.FindStatusCondition(h.get(t).Status.Conditions, workv1alpha1.ConditionPaused))
	h.isEverywhere(t, "v1")
}

// isHeld: the operator deletes the Deployment, which ends the process.
func (h *hub) isHeld(t *testing.T, _ string) {
	child := h.work.Process()
	eventually(t, "the work hub ends", func() error {
		if ended, _ := child.Exited(); !ended {
			return errors.New("it runs")
		}
		return nil
	})
}

func (h *hub) goesOn(t *testing.T, _ string) {
	before := h.work.Process()
	eventually(t, "the work hub runs again", func() error {
		if ended, _ := h.work.Process().Exited(); ended || h.work.Process() == before {
			return errors.New("it does not")
		}
		return nil
	})
	h.isEverywhere(t, "v1")
}

var deletedWork string

func (h *hub) rememberWork(t *testing.T) { deletedWork = h.workUID(t) }

func (h *hub) workUID(t *testing.T) string {
	output, _ := h.try(t, "kubectl -n cluster1 get manifestwork web -o jsonpath='{.metadata.uid}'")
	return output
}

func (h *hub) worksAgain(t *testing.T, _ string) {
	eventually(t, "another work", func() error {
		if uid := h.workUID(t); uid == "" || uid == deletedWork {
			return errors.New("there is no such object")
		}
		return nil
	})
	h.shell(t, "kubectl wait mwrs/web --for=condition=PlacementRolledOut --timeout=2m")
	h.isEverywhere(t, "v1")
}
