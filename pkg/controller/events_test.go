package controller

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/replicaset"
)

type notes []string

// Eventf implements events.EventRecorder.
func (n *notes) Eventf(_, _ runtime.Object, _, _, _, note string, args ...any) {
	*n = append(*n, fmt.Sprintf(note, args...))
}

// The API server takes notes of 1024 bytes: one that says more is cut between two characters, and the event is not lost.
func TestNotesFitIntoAnEvent(t *testing.T) {
	told := &notes{}
	c := &Controller{recorder: told}
	p := &pass{object: &replicaset.Object{ManifestWorkReplicaSet: &workv1alpha1.ManifestWorkReplicaSet{}}}
	for _, note := range []string{"short, 100% of it", strings.Repeat("ä", 600), "a" + strings.Repeat("ä", 600)} {
		c.event(p, nil, corev1.EventTypeWarning, workv1alpha1.EventRolloutAborted, "Abort", note)
	}
	require.Equal(t, "short, 100% of it", (*told)[0])
	for _, note := range (*told)[1:] {
		require.LessOrEqual(t, len(note), 1024)
		require.Greater(t, len(note), 990)
		require.True(t, utf8.ValidString(note))
		require.True(t, strings.HasSuffix(note, "ä …"))
	}
}
