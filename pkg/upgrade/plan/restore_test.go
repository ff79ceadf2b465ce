package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/utils/ptr"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

const snapshotOf100 = workv1alpha1.AnnotationSnapshotPrefix + "v1.0.0"

// aborting is a hub of v1.0.0, whose rollout of v3 was aborted back to v2, on which v1.1.0 started.
func aborting(t *testing.T) *hub {
	t.Helper()
	h := newHub(3)
	h.object.Status.CollisionCount = ptr.To[int32](2)
	h.abort("v3", 30)
	return upgraded(t, h)
}

// TestForgedSnapshot: of a snapshot with numbers that no hub writes, nothing of them is restored.
func TestForgedSnapshot(t *testing.T) {
	const key = workv1alpha1.AnnotationSnapshotPrefix + "v1.0.0"
	h := upgraded(t, newHub(3))
	h.object.Generation = 3
	h.object.Annotations[key] = `{"uid":"uid","generation":3,"status":{"collisionCount":2147483639}}`
	_, r, _ := h.starts("v1.0.0")
	require.True(t, r.Fits)
	require.Nil(t, h.object.Status.CollisionCount)

	for _, number := range []string{"-1", "9223372036854775807"} {
		h = upgraded(t, newHub(3))
		h.object.Generation = 3
		h.object.Annotations[key] = `{"uid":"uid","generation":3,"status":{},"revisions":[{"hash":"` + h.hash("v1") + `","number":` + number + `}]}`
		_, r, _ = h.starts("v1.0.0")
		require.False(t, r.Fits)
		require.Contains(t, r.Kept, "it has the revision number "+number)
	}

	for _, hash := range []string{"../web", `\u001b]52;c;`, "a,b", strings.Repeat("a", 64)} {
		for _, forged := range []string{
			`"status":{"currentRevision":"` + hash + `"}`, `"status":{"updateRevision":"` + hash + `"}`,
			`"status":{},"revisions":[{"hash":"` + hash + `","number":1}]`,
		} {
			h = upgraded(t, newHub(3))
			h.object.Status = workv1alpha1.ManifestWorkReplicaSetStatus{}
			h.object.Annotations[key] = `{"uid":"uid","generation":3,` + forged + `}`
			_, r, _ = h.starts("v1.0.0")
			require.Contains(t, r.Kept, "is not the hash of a revision", forged)
			require.Empty(t, h.object.Status)
		}
	}
}

// What the newer version lost is there again, and the snapshot is gone.
func TestRestore(t *testing.T) {
	for name, lose := range map[string]func(*hub){
		"nothing": func(*hub) {},
		"the status": func(h *hub) {
			h.object.Status = workv1alpha1.ManifestWorkReplicaSetStatus{}
		},
		"the abort in the status":       func(h *hub) { h.object.Status.AbortedTime = nil },
		"the collision count":           func(h *hub) { h.object.Status.CollisionCount = nil },
		"a part of the count":           func(h *hub) { h.object.Status.CollisionCount = ptr.To[int32](1) },
		"the current revision":          func(h *hub) { h.object.Status.CurrentRevision = "" },
		"the update revision":           func(h *hub) { h.object.Status.UpdateRevision = "" },
		"annotations of all":            func(h *hub) { h.everyRevision(func(a map[string]string) { clear(a) }) },
		"a record that nobody can read": func(h *hub) { h.revision("v2").Annotations[workv1alpha1.AnnotationRecord] = "{" },
		"a time that nobody can read": func(h *hub) {
			h.revision("v3").Annotations[workv1alpha1.AnnotationRecord] = `{"abort":{"at":"yesterday"}}`
		},
		"the generation": func(h *hub) { h.revision("v1").Annotations[workv1alpha1.AnnotationGeneration] = "one" },
		"numbers": func(h *hub) {
			for i, rev := range h.revisions {
				rev.Revision = int64(40 - i)
			}
		},
		"everything": func(h *hub) {
			h.object.Status = workv1alpha1.ManifestWorkReplicaSetStatus{}
			h.everyRevision(func(a map[string]string) { clear(a) })
			for _, rev := range h.revisions {
				rev.Revision = 7
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := aborting(t)
			before := h.state(t)
			lose(h)
			_, r, ended := h.starts("v1.0.0")
			require.True(t, ended)
			require.True(t, r.Fits)
			require.Empty(t, r.Kept)
			require.Equal(t, name == "nothing", r.Restored == "", r.Restored)
			require.Equal(t, before, h.state(t))
			require.Empty(t, h.snapshots())
		})
	}
}

func (h *hub) everyRevision(change func(annotations map[string]string)) {
	for _, rev := range h.revisions {
		change(rev.Annotations)
	}
}

// What happened since the snapshot stays: it is a fact, or somebody asked for it.
func TestRestoreKeepsWhatHappenedSince(t *testing.T) {
	for name, test := range map[string]struct {
		before, since func(*hub)
	}{
		"an abort": {func(*hub) {}, func(h *hub) { h.abort("v3", 50) }},
		"another abort of the same revision": {func(h *hub) { h.abort("v3", 30) }, func(h *hub) {
			h.retry("v3", 40)
			h.abort("v3", 50)
		}},
		"a rollout that completed": {func(*hub) {}, func(h *hub) { h.complete("v3", 50) }},
		"a retry under way":        {func(h *hub) { h.abort("v3", 30) }, func(h *hub) { h.retry("v3", 40) }},
		"a retry that completed": {func(h *hub) { h.abort("v3", 30) }, func(h *hub) {
			h.retry("v3", 40)
			h.complete("v3", 50)
		}},
		"a retry that completed, and the status lost it": {func(h *hub) { h.abort("v3", 30) }, func(h *hub) {
			h.retry("v3", 40)
			h.complete("v3", 50)
			h.object.Status.CurrentRevision = h.hash("v2")
		}},
		"a template that came back": {func(h *hub) { h.abort("v3", 30) }, func(h *hub) {
			h.roll("v4")
			h.roll("v3")
		}},
		"a template that came back to where it was, after another one was complete": {func(h *hub) { h.abort("v3", 30) }, func(h *hub) {
			h.roll("v4")
			h.complete("v4", 50)
			h.roll("v3")
		}},
		"a retry, and a person who named another stable revision": {func(h *hub) { h.abort("v3", 30) }, func(h *hub) {
			h.retry("v3", 40)
			h.object.Status.CurrentRevision = h.hash("v1")
		}},
		"another hub that rolled out past the current revision": {func(*hub) {}, func(h *hub) {
			h.object.Status.CurrentRevision = ""
			amend(h.revision("v2"), func(r *revision.Record) { r.CurrentSince, r.Surpassed = time.Time{}, at(50) })
		}},
		"another one is current, and the status lost it": {func(*hub) {}, func(h *hub) {
			h.complete("v3", 50)
			h.object.Status.CurrentRevision = ""
		}},
		"a later collision": {func(*hub) {}, func(h *hub) { h.object.Status.CollisionCount = ptr.To[int32](4) }},
		"a new name of what was recorded": {func(*hub) {}, func(h *hub) {
			h.revision("v1").Annotations["somebody.example.com/note"] = "kept"
		}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHub(3)
			test.before(h)
			h = upgraded(t, h)
			test.since(h)
			live := h.state(t)
			_, r, ended := h.starts("v1.0.0")
			require.True(t, ended)
			require.Empty(t, r.Restored)
			require.Equal(t, live, h.state(t))
			require.Empty(t, h.snapshots())
		})
	}
}

// The spec is the user's: with another template the whole state stays, and it is said why.
func TestRestoreOfAnotherTemplate(t *testing.T) {
	for name, test := range map[string]struct {
		since func(*hub)
		kept  string
	}{
		"a new template":            {func(h *hub) { h.roll("v4") }, "the template has changed since the snapshot of version v1.0.0 was taken"},
		"a new template that waits": {func(h *hub) { h.edit("v4") }, "the template has changed"},
		"a template that came back, and its revision can't be read": {func(h *hub) {
			h.edit("v4")
			h.edit("v3")
			h.revision("v3").Data.Raw = []byte(`{}`)
		}, "the template has changed"},
		"another object": {func(h *hub) {
			h.object.UID = "other"
		}, "the snapshot of version v1.0.0 was taken of another object with this name"},
		"no snapshot": {func(h *hub) { h.object.Annotations[snapshotOf100] = "v1" }, "the annotation " + snapshotOf100 + " cannot be read: it is not a snapshot"},
		"null":        {func(h *hub) { h.object.Annotations[snapshotOf100] = "null" }, "was taken of another object"},
		"nothing":     {func(h *hub) { h.object.Annotations[snapshotOf100] = "" }, "it is empty"},
		"too much":    {func(h *hub) { h.object.Annotations[snapshotOf100] += strings.Repeat(" ", maxSnapshot) }, "and 16384 are allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			h := aborting(t)
			test.since(h)
			h.object.Status.AbortedTime, h.object.Status.CurrentRevision = nil, ""
			live := h.state(t)
			_, r, ended := h.starts("v1.0.0")
			require.True(t, ended)
			require.Contains(t, r.Kept, test.kept)
			require.False(t, r.Fits)
			require.Equal(t, live, h.state(t))
			require.Empty(t, h.snapshots())
		})
	}
}

// The template may be edited and come back: it is the same revision, by what it means.
func TestRestoreOfATemplateThatCameBack(t *testing.T) {
	h := aborting(t)
	h.edit("v4")
	h.edit("v3")
	h.object.Status.AbortedTime = nil
	_, r, _ := h.starts("v1.0.0")
	require.Contains(t, r.Restored, "status.abortedTime")
}

// A GitOps tool that removes annotations removes snapshots too: the state stays.
func TestRestoreWithoutASnapshot(t *testing.T) {
	h := aborting(t)
	h.object.Annotations = nil
	h.object.Status.AbortedTime = nil
	live := h.state(t)
	_, r, ended := h.starts("v1.0.0")
	require.True(t, ended)
	require.Equal(t, Restoration{Annotations: map[string]any{}}, r)
	require.Equal(t, live, h.state(t))
}

// Revisions that came since have numbers of their own: the others keep theirs, so that none is taken for one that came back.
func TestRestoreKeepsNumbersBesideNewRevisions(t *testing.T) {
	h := upgraded(t, newHub(3))
	h.roll("v4")
	h.roll("v3")
	live := h.state(t)
	_, r, _ := h.starts("v1.0.0")
	require.Empty(t, r.Kept)
	require.Equal(t, live, h.state(t))
}

// Without the permission on ControllerRevisions the status alone is kept, and no abort is restored: nothing could be rolled back to.
func TestRestoreWithoutAHistory(t *testing.T) {
	h := aborting(t)
	d := Decide("v1.0.0", h.recorded)
	o := h.list(&d)
	o.NoHistory, o.History.Revisions = true, nil
	o.Status.AbortedTime, o.Status.UpdateRevision, o.Status.CurrentRevision = nil, "", ""
	r := Restore(&d, o)
	require.Nil(t, r.Status.AbortedTime)
	require.Equal(t, h.hash("v3"), r.Status.UpdateRevision)
	require.Equal(t, h.hash("v2"), r.Status.CurrentRevision)
	require.Empty(t, r.Revisions)
}

// A revision that was deleted is not made again here.
func TestRestoreOfADeletedRevision(t *testing.T) {
	h := aborting(t)
	h.revisions = h.revisions[1:]
	h.object.Status.AbortedTime = nil
	_, r, _ := h.starts("v1.0.0")
	require.Contains(t, r.Restored, "status.abortedTime")
	require.Len(t, h.revisions, 2)
}

// A foreign annotation in a snapshot is not written: only the hub's own are, and only values that a hub writes.
func TestRestoreWritesOnlyWhatAHubWrites(t *testing.T) {
	h := aborting(t)
	value := h.object.Annotations[snapshotOf100]
	value = strings.ReplaceAll(value, `"work.open-cluster-management.io/generation":`, `"example.com/other":"x","work.open-cluster-management.io/generation":`)
	h.object.Annotations[snapshotOf100] = strings.ReplaceAll(value, `\"at\":\"`+at(30).Format(time.RFC3339), `\"at\":\"soon`)
	h.everyRevision(func(a map[string]string) { clear(a) })
	_, _, ended := h.starts("v1.0.0")
	require.True(t, ended)
	for _, rev := range h.revisions {
		require.NotContains(t, rev.Annotations, "example.com/other")
		require.Nil(t, revision.RecordOf(rev).Abort)
		require.Contains(t, rev.Annotations, workv1alpha1.AnnotationGeneration)
	}
}
