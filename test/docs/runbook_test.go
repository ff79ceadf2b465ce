package docs

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// rollsOut returns a step that changes the template to a version that never becomes ready, and waits for a reason of Progressing.
func (h *hub) rollsOut(version, reason string) func(t *testing.T) {
	return func(t *testing.T) {
		t.Helper()
		h.changesTo(t, version, false)
		h.waitsFor(t, reason)
	}
}

// changesTo changes the template to a version that becomes ready, or to one that never does.
func (h *hub) changesTo(t *testing.T, version string, works bool) {
	t.Helper()
	h.shell(t, fmt.Sprintf(`kubectl patch mwrs web --type=json -p '[{"op": "replace", "path": "/spec/manifestWorkTemplate/workload/manifests/0/data", `+
		`"value": {"version": "%s", "works": "%v"}}]'`, version, works))
}

// waitsFor waits for a reason of Progressing at the latest generation.
func (h *hub) waitsFor(t *testing.T, reason string) {
	t.Helper()
	eventually(t, reason, func() error {
		mwrs := h.get(t)
		found := meta.FindStatusCondition(mwrs.Status.Conditions, workv1alpha1.ConditionProgressing)
		if found == nil || found.ObservedGeneration != mwrs.Generation || found.Reason != reason {
			return fmt.Errorf("Progressing is %+v", found)
		}
		return nil
	})
}

// aborts returns a step that rolls out a version that never becomes ready, and waits for the abort.
func (h *hub) aborts(version string) func(t *testing.T) {
	return h.rollsOut(version, workv1alpha1.ReasonRolloutAborted)
}

// restores puts the template of the stable revision back into the spec, and waits.
func (h *hub) restores(t *testing.T) {
	t.Helper()
	h.putsBack(t)
	h.isBack(t)
}

// putsBack puts the template of the stable revision back into the spec.
func (h *hub) putsBack(t *testing.T) {
	t.Helper()
	h.shell(t, `HASH=$(kubectl get mwrs web -o jsonpath='{.status.currentRevision}')
TEMPLATE=$(kubectl get controllerrevision "web-$HASH" -o jsonpath='{.data.spec.manifestWorkTemplate}')
kubectl patch mwrs web --type=json -p "[{\"op\": \"replace\", \"path\": \"/spec/manifestWorkTemplate\", \"value\": $TEMPLATE}]"`)
}

// isBack waits until the rollout is complete and every cluster has v1.
func (h *hub) isBack(t *testing.T) {
	t.Helper()
	h.waitsFor(t, workv1alpha1.ReasonNewManifestWorkAvailable)
	h.isEverywhere(t, "v1")
}

// failsAgain: the clusters were not repaired, so the retry is aborted too. The page then waits for the end of an undo.
func (h *hub) failsAgain(t *testing.T, output string) {
	h.isRetried(t, output)
	h.putsBack(t)
}

// abortsWhileOffline: the agent of one cluster stops before the abort.
func (h *hub) abortsWhileOffline(t *testing.T) {
	h.changesTo(t, "v5", false)
	eventually(t, "the first cluster has v5", func() error {
		if found := h.shell(t, "kubectl mwrs clusters web --state inflight -o name"); found != "cluster1\n" {
			return errors.New(found)
		}
		return nil
	})
	h.Agents["cluster1"].Stop()
	h.waitsFor(t, workv1alpha1.ReasonRolloutAborted)
}

// restoresOnReturn: the agent returns, and confirms the stable revision.
func (h *hub) restoresOnReturn(t *testing.T, output string) {
	h.shows("Restoring", "cluster1", "docs/runbook.md#a-rollout-was-aborted")(t, output)
	h.Agents["cluster1"].Start()
	h.shell(t, "kubectl mwrs status web --wait-restored --timeout=2m")
	require.Empty(t, h.shell(t, "kubectl mwrs clusters web --state Restoring -o name"))
	h.restores(t)
}

// The failureStrategy of the only placementRef, and a patch of it.
const (
	failureStrategy = `[{"op": "%s", "path": "/spec/placementRefs/0/rolloutStrategy/failureStrategy"%s}]`
	addIt           = `, "value": "AbortAll"`
)

// abortsNothing removes the failureStrategy, and abortsAgain adds it.
func (h *hub) abortsNothing(t *testing.T) {
	h.shell(t, "kubectl patch mwrs web --type=json -p '"+fmt.Sprintf(failureStrategy, "remove", "")+"'")
}

func (h *hub) abortsAgain(t *testing.T) {
	h.shell(t, "kubectl patch mwrs web --type=json -p '"+fmt.Sprintf(failureStrategy, "add", addIt)+"'")
}

func (h *hub) stalls(t *testing.T) {
	h.abortsNothing(t)
	h.rollsOut("v5", workv1alpha1.ReasonProgressDeadlineExceeded)(t)
}

// leavesTheStall: the abort returns every cluster, and the status has its reason.
func (h *hub) leavesTheStall(t *testing.T, _ string) {
	h.waitsFor(t, workv1alpha1.ReasonRolloutAborted)
	require.Equal(t, []string{"v1", "v1"}, h.versions(t))
	require.Equal(t, "v5 is broken", h.get(t).Status.AbortReason)
	h.restores(t)
}

// fallsBehind: a good version fails on a cluster that is offline.
func (h *hub) fallsBehind(t *testing.T) {
	h.Agents["cluster1"].Stop()
	require.NoError(t, h.Fleet.SetAvailable(t.Context(), "cluster1", false))
	h.changesTo(t, "v6", true)
	h.waitsFor(t, workv1alpha1.ReasonProgressDeadlineExceeded)
}

// catchesUp: the hub notices the late success, and continues the rollout.
func (h *hub) catchesUp(t *testing.T, output string) {
	h.shows("cluster1   Failed", "version: v6", "Unknown")(t, output)
	h.Agents["cluster1"].Start()
	require.NoError(t, h.Fleet.SetAvailable(t.Context(), "cluster1", true))
	h.waitsFor(t, workv1alpha1.ReasonNewManifestWorkAvailable)
	h.isEverywhere(t, "v6")
	require.Contains(t, h.shell(t, "kubectl mwrs why web cluster1"), "cluster1   Succeeded")
	h.abortsAgain(t)
	h.shell(t, "kubectl mwrs undo web --yes --allow-managed --wait")
	h.isBack(t)
}

// pauses and resumes test a pause that is the reason why nothing happens.
func (h *hub) pauses(t *testing.T) {
	h.shell(t, "kubectl mwrs pause web && kubectl wait mwrs/web --for=condition=Paused --timeout=1m")
}

func (h *hub) resumes(t *testing.T, output string) {
	h.shows("Paused", "kubectl mwrs resume web")(t, output)
	h.shell(t, "kubectl mwrs resume web")
	h.isBack(t)
}

// another runs the commands of a block for the object that deletesAnother creates.
func another(_ *testing.T, commands string) string {
	return strings.NewReplacer("mwrs get web", "mwrs get another", "default.web", "default.another").Replace(commands)
}

// deletesAnother deletes an object whose workloads must stay, while the agent of one cluster is stopped.
func (h *hub) deletesAnother(t *testing.T) {
	h.shell(t, "sed 's/: web\\b/: another/' docs/examples/web.yaml | kubectl apply -f - && "+
		"kubectl wait mwrs/another --for=condition=PlacementRolledOut --timeout=2m")
	h.Agents["cluster1"].Stop()
	h.shell(t, `kubectl patch mwrs another --type=merge -p '{"spec":{"preserveResourcesOnDeletion":true}}' && `+
		"kubectl delete mwrs another --wait=false && kubectl wait mwrs/another --for=condition=Deleting --timeout=1m")
	eventually(t, "cluster2 has released its workloads", func() error {
		output, problem := h.try(t, "kubectl mwrs get another")
		if problem != "" || strings.Contains(output, "cluster2") {
			return errors.New(output + problem)
		}
		return nil
	})
}

// deletionEnds when the agent is back.
func (h *hub) deletionEnds(t *testing.T, output string) {
	h.shows("Deleting", "waiting for the agents of 1 cluster (cluster1)")(t, output)
	h.Agents["cluster1"].Start()
	h.shell(t, "kubectl wait mwrs/another --for=delete --timeout=2m")
}

// goesAway: once the Lease is late, the doctor notices that no hub leads.
func (h *hub) goesAway(t *testing.T) {
	h.disable(t)
	eventually(t, "the doctor fails", func() error {
		if output, problem := h.try(t, "kubectl mwrs doctor"); problem == "" {
			return errors.New(output)
		}
		return nil
	})
}

// returns: the remedy is the feature gate.
func (h *hub) returns(t *testing.T, output string) {
	require.Regexp(t, `(?m)^fail +leader `, output)
	require.NotContains(t, output, "cluster-manager-work-controller  ", "the operator deleted the Deployment")
	h.setGate(t, "Enable")
	eventually(t, "the doctor reports no failure", func() error {
		output, problem := h.try(t, "kubectl mwrs doctor")
		if problem != "" {
			return errors.New(output + problem)
		}
		return nil
	})
}

// forced adds the flags that the page names for a template that a tool manages, and the answer to the question.
func forced(_ *testing.T, commands string) string {
	return strings.TrimSuffix(commands, "\n") + " --yes --allow-managed\n"
}

// tolerant lets the commands of a block continue after one that fails.
func tolerant(_ *testing.T, commands string) string {
	return strings.ReplaceAll(commands, "\n", " || true\n")
}

// shows returns a check that a block printed each of the texts.
func (h *hub) shows(texts ...string) func(t *testing.T, output string) {
	return func(t *testing.T, output string) {
		for _, text := range texts {
			require.Contains(t, output, text)
		}
	}
}

// differs lets the commands of a block continue after a diff, which exits with 1 if the templates differ.
func (h *hub) differs(_ *testing.T, commands string) string {
	return regexp.MustCompile(`(?m)^(kubectl mwrs diff .*)$`).ReplaceAllString(commands, "$1 || [ $$? = 1 ]")
}

// choosesRevision: the block prints the revisions with their states, and then the stable revision, which every cluster has.
func (h *hub) choosesRevision(t *testing.T, output string) {
	status := h.get(t).Status
	lines := strings.Split(strings.TrimSpace(output), "\n")
	require.Len(t, lines, 3)
	require.Contains(t, lines[0], "\t"+status.CurrentRevision+"\tAvailable\t2\t")
	require.Contains(t, lines[1], "\t"+status.Revisions[1].Hash+"\tArchived\t0\t")
	require.Equal(t, status.CurrentRevision, lines[2])
}

// withHash replaces the placeholder of the page with the hash of the older revision.
func (h *hub) withHash(t *testing.T, commands string) string {
	require.Contains(t, commands, "HASH=<hash>\n")
	return strings.Replace(commands, "<hash>", h.get(t).Status.Revisions[1].Hash, 1)
}
