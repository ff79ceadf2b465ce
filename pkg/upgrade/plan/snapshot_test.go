package plan

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

func TestSnapshot(t *testing.T) {
	h := newHub(3)
	h.abort("v3", 30)
	h = upgraded(t, h)
	s, err := decode(h.object.Annotations[workv1alpha1.AnnotationSnapshotPrefix+"v1.0.0"])
	require.NoError(t, err)
	require.Equal(t, h.object.UID, s.UID)
	require.Equal(t, h.object.Generation, s.Generation)
	require.Equal(t, h.hash("v3"), s.Template)
	require.Equal(t, h.hash("v3"), s.Status.UpdateRevision)
	require.Equal(t, h.hash("v2"), s.Status.CurrentRevision)
	require.True(t, h.object.Status.AbortedTime.Equal(s.Status.AbortedTime))
	require.Len(t, s.Revisions, 3)
	for _, version := range []string{"v1", "v2", "v3"} {
		kept := s.revision(h.hash(version))
		require.Equal(t, h.revision(version).Revision, kept.Number)
		require.Equal(t, h.revision(version).Annotations, kept.Annotations)
	}
	require.NotContains(t, h.object.Annotations[workv1alpha1.AnnotationSnapshotPrefix+"v1.0.0"], "ConfigMap", "a revision holds the template")
}

// A template that waits, for an abort to end or for a pause, has no revision that the snapshot could name.
func TestSnapshotOfATemplateThatWaits(t *testing.T) {
	h := newHub(2)
	h.edit("v9")
	h = upgraded(t, h)
	s, err := decode(h.object.Annotations[workv1alpha1.AnnotationSnapshotPrefix+"v1.0.0"])
	require.NoError(t, err)
	require.Empty(t, s.Template)
	require.Equal(t, h.hash("v2"), s.Status.UpdateRevision)
}

// The same state is no other snapshot: a process that was killed and starts again writes nothing that is there. A state that has changed, because
// the older version ran once more, is.
func TestSnapshotIsReplaced(t *testing.T) {
	h := newHub(2)
	_, _, _ = h.starts("v1.0.0")
	h.writes, h.made = 1, 0
	_, _, ended := h.starts("v1.1.0")
	require.False(t, ended, "killed before the ConfigMap")
	first := h.object.Annotations[workv1alpha1.AnnotationSnapshotPrefix+"v1.0.0"]
	require.NotEmpty(t, first)

	again := h.copy()
	again.writes, again.made = -1, 0
	_, _, ended = again.starts("v1.1.0")
	require.True(t, ended)
	require.Equal(t, 1, again.made, "only the ConfigMap")
	require.Equal(t, first, again.object.Annotations[workv1alpha1.AnnotationSnapshotPrefix+"v1.0.0"])

	h.writes = -1
	d, _, _ := h.starts("v1.0.0")
	require.Equal(t, Proceed, d.Action)
	h.complete("v2", 60)
	_, _, ended = h.starts("v1.1.0")
	require.True(t, ended)
	require.NotEqual(t, first, h.object.Annotations[workv1alpha1.AnnotationSnapshotPrefix+"v1.0.0"])
}

// Snapshots of three versions stay, and none that is not listed.
func TestSnapshotsOfThreeVersionsStay(t *testing.T) {
	h := newHub(2)
	h.object.Annotations = map[string]string{
		workv1alpha1.AnnotationSnapshotPrefix + "v0.9.0": "{}", workv1alpha1.AnnotationSnapshotPrefix + "junk": "{}",
	}
	for n := range 5 {
		_, _, ended := h.starts(fmt.Sprintf("v1.%d.0", n))
		require.True(t, ended)
	}
	require.Equal(t, []string{"v1.1.0", "v1.2.0", "v1.3.0"}, h.snapshots())
	_, _, ended := h.starts("v1.2.0")
	require.True(t, ended)
	require.Equal(t, []string{"v1.1.0"}, h.snapshots(), "what a version took that is newer is not of this state")
}

// A history that does not fit loses what matters least, and the same each time.
func TestSnapshotIsBounded(t *testing.T) {
	h := newHub(110)
	for _, rev := range h.revisions {
		amend(rev, func(r *revision.Record) {
			r.Abort = &revision.Abort{At: at(5), Reason: strings.Repeat("many clusters failed ", 40)}
		})
		rev.Annotations["somebody.example.com/note"] = strings.Repeat("x", 1000)
	}
	h = upgraded(t, h)
	value := h.object.Annotations[workv1alpha1.AnnotationSnapshotPrefix+"v1.0.0"]
	require.LessOrEqual(t, len(value), maxSnapshot)
	require.Greater(t, len(value), maxSnapshot*3/4, "what fits is there")
	require.NotContains(t, value, "somebody.example.com")
	s, err := decode(value)
	require.NoError(t, err)
	require.Len(t, s.Revisions, 110, "every number fits")
	require.Equal(t, h.object.Status.UpdateRevision, s.Revisions[0].Hash)
	for _, hash := range []string{h.object.Status.UpdateRevision, h.object.Status.CurrentRevision} {
		require.NotEmpty(t, s.revision(hash).record().Others)
	}
	d := Decide("v1.1.0", map[string]string{KeyVersion: "v1.0.0"})
	again, err := Snapshot(&d, h.list(&d))
	require.NoError(t, err)
	require.Empty(t, again, "the same state is the same snapshot")

	// Even numbers may be too many: a name of a revision is not bounded by this version.
	for _, rev := range h.revisions {
		rev.Labels[workv1alpha1.LabelControllerHash] = "h" + strings.Repeat("a", 200) + rev.Labels[workv1alpha1.LabelControllerHash]
		rev.Name = "web-" + rev.Labels[workv1alpha1.LabelControllerHash]
	}
	d = Decide("v1.2.0", h.recorded)
	value, err = encode(h.list(&d))
	require.NoError(t, err)
	require.LessOrEqual(t, len(value), maxSnapshot)
}

// What a snapshot costs does not grow with a history of which only a part fits.
func TestSnapshotOfALongHistory(t *testing.T) {
	size := func(revisions int) (allocated uint64, snapshot string) {
		o := &Object{ManifestWorkReplicaSet: newHub(1).object}
		for n := range revisions {
			hash := fmt.Sprintf("%010d", n)
			o.History.Revisions = append(o.History.Revisions, revision.Revision{
				Hash: hash, Object: &appsv1.ControllerRevision{Revision: int64(n)},
			})
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		snapshot, err := encode(o)
		require.NoError(t, err)
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc, snapshot
	}
	size(1) // What is made once is not counted.
	once, _ := size(500)
	tenfold, snapshot := size(5000)
	require.Less(t, tenfold, 5*once, "%.1f MB for 500, %.1f MB for 5,000", float64(once)/1e6, float64(tenfold)/1e6)
	require.LessOrEqual(t, len(snapshot), maxSnapshot)
	require.Contains(t, snapshot, `"number":4999`, "the newest stay")
}
