package controller

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/metrics"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/replicaset"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

type notes []string

// Eventf implements events.EventRecorder.
func (n *notes) Eventf(_, _ runtime.Object, _, _, _, note string, args ...any) {
	*n = append(*n, fmt.Sprintf(note, args...))
}

// An event is also a line in the log, because the API server keeps events for only an hour.
func TestEventsAreLogged(t *testing.T) {
	var log bytes.Buffer
	klog.SetLogger(textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&log))))
	t.Cleanup(klog.ClearLogger)
	c := &Controller{Config: Config{Recorder: &notes{}}}
	p := &pass{key: "default/web", observed: observed{object: &replicaset.Object{ManifestWorkReplicaSet: &workv1alpha1.ManifestWorkReplicaSet{}}}}
	c.event(p, nil, corev1.EventTypeWarning, workv1alpha1.EventRolloutAborted, "Abort", "c1 \x1b[31mfailed")
	require.Regexp(t, `^I.*"Event" manifestWorkReplicaSet="default/web" type="Warning" reason="RolloutAborted" note="c1 \\\\x1b\[31mfailed"\n$`, log.String())
}

// After an abort, no cluster counts as updated: all of them return to the stable revision.
func TestObservedPlacements(t *testing.T) {
	shown := &rollout.Plan{Refs: []rollout.RefOutcome{{
		Ref: &placement.Ref{Name: "all"}, Selected: 5, Updated: 2,
		Phases: map[rollout.Phase]int{rollout.PhaseFailed: 2, rollout.PhaseDegraded: 1, rollout.PhaseWaiting: 2},
	}}}
	require.Equal(t, []metrics.Placement{{Name: "all", Selected: 5, Updated: 2, Failing: 3}}, placementsOf(shown, false))
	require.Equal(t, []metrics.Placement{{Name: "all", Selected: 5, Failing: 3}}, placementsOf(shown, true))
}

// The API server accepts notes of at most 1024 bytes. A longer note is cut between two characters, and the event is not lost.
func TestNotesFitIntoAnEvent(t *testing.T) {
	told := &notes{}
	c := &Controller{Config: Config{Recorder: told}}
	p := &pass{observed: observed{object: &replicaset.Object{ManifestWorkReplicaSet: &workv1alpha1.ManifestWorkReplicaSet{}}}}
	for _, note := range []string{"short, 100% of it", strings.Repeat("ä", 600), "a" + strings.Repeat("ä", 600)} {
		c.event(p, nil, corev1.EventTypeWarning, workv1alpha1.EventRolloutAborted, "Abort", note)
	}
	require.Equal(t, "short, 100% of it", (*told)[0])
	for _, note := range (*told)[1:] {
		require.LessOrEqual(t, len(note), 1024)
		require.Greater(t, len(note), 990)
		require.True(t, utf8.ValidString(note))
		require.True(t, strings.HasSuffix(note, "ä…"))
	}
}
