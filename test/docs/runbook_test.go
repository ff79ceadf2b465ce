package docs

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// rollsOut returns a step that puts a version into the template that never becomes ready, and waits for a reason of Progressing.
func (h *hub) rollsOut(version, reason string) func(t *testing.T) {
	return func(t *testing.T) {
		t.Helper()
		h.shell(t, `kubectl patch mwrs web --type=json -p '[{"op": "replace", "path": "/spec/manifestWorkTemplate/workload/manifests/0/data", `+
			`"value": {"version": "`+version+`", "works": "false"}}]'`)
		h.waitsFor(t, reason)
	}
}

// waitsFor waits for a reason of Progressing at the newest generation.
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

// aborts returns a step that rolls out such a version, and waits until it was aborted.
func (h *hub) aborts(version string) func(t *testing.T) {
	return func(t *testing.T) {
		t.Helper()
		h.rollsOut(version, workv1alpha1.ReasonNewRevisionCreated)(t)
		h.waitsFor(t, workv1alpha1.ReasonRolloutAborted)
	}
}

// restores puts the template of the stable revision back into the spec.
func (h *hub) restores(t *testing.T) {
	t.Helper()
	h.shell(t, `HASH=$(kubectl get mwrs web -o jsonpath='{.status.currentRevision}')
TEMPLATE=$(kubectl get controllerrevision "web-$HASH" -o jsonpath='{.data.spec.manifestWorkTemplate}')
kubectl patch mwrs web --type=json -p "[{\"op\": \"replace\", \"path\": \"/spec/manifestWorkTemplate\", \"value\": $TEMPLATE}]"`)
	h.waitsFor(t, workv1alpha1.ReasonNewManifestWorkAvailable)
	h.isEverywhere(t, "v1")
}

// shows returns a check that a block printed each of the texts.
func (h *hub) shows(texts ...string) func(t *testing.T, output string) {
	return func(t *testing.T, output string) {
		for _, text := range texts {
			require.Contains(t, output, text)
		}
	}
}

// differs lets the commands of a block go on after a diff, which exits with 1 if the templates differ.
func (h *hub) differs(_ *testing.T, commands string) string {
	return regexp.MustCompile(`(?m)^(kubectl mwrs diff .*)$`).ReplaceAllString(commands, "$1 || [ $$? = 1 ]")
}

// choosesRevision: the block prints the revisions with their states, and then the stable one, which runs everywhere.
func (h *hub) choosesRevision(t *testing.T, output string) {
	status := h.get(t).Status
	lines := strings.Split(strings.TrimSpace(output), "\n")
	require.Len(t, lines, 3)
	require.Contains(t, lines[0], "\t"+status.CurrentRevision+"\tAvailable\t2\t")
	require.Contains(t, lines[1], "\t"+status.Revisions[1].Hash+"\tArchived\t0\t")
	require.Equal(t, status.CurrentRevision, lines[2])
}

// withHash puts the hash of the older revision in the place that the page leaves to its reader.
func (h *hub) withHash(t *testing.T, commands string) string {
	require.Contains(t, commands, "HASH=<hash>\n")
	return strings.Replace(commands, "<hash>", h.get(t).Status.Revisions[1].Hash, 1)
}
