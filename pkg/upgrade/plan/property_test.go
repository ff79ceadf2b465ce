package plan

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"github.com/open-cluster-management-io/work-rollback/internal/budget"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// drawHub is a hub in any state: any history, complete, under way or aborted.
func drawHub(t *rapid.T) *hub {
	n := rapid.IntRange(1, 5).Draw(t, "revisions")
	h := newHub(n)
	newest := fmt.Sprintf("v%d", n)
	switch rapid.SampledFrom([]string{"under way", "aborted", "complete", "undone"}).Draw(t, "state") {
	case "aborted":
		if n > 1 {
			h.abort(newest, 30)
		}
	case "complete":
		h.complete(newest, 30)
	case "undone":
		h.complete(newest, 30)
		h.roll("v1")
	}
	if rapid.Bool().Draw(t, "collisions") {
		h.object.Status.CollisionCount = ptr.To[int32](3)
	}
	return h
}

// damage loses any part of what the hub wrote.
func damage(t *rapid.T, h *hub) {
	s := &h.object.Status
	for _, lose := range []struct {
		name string
		do   func()
	}{
		{"abort", func() { s.AbortedTime = nil }},
		{"current", func() { s.CurrentRevision = "" }},
		{"update", func() { s.UpdateRevision = "" }},
		{"collisions", func() { s.CollisionCount = nil }},
	} {
		if rapid.Bool().Draw(t, "lose "+lose.name) {
			lose.do()
		}
	}
	for i, rev := range h.revisions {
		if rapid.Bool().Draw(t, fmt.Sprintf("renumber %d", i)) {
			rev.Revision = rapid.Int64Range(0, 9).Draw(t, "number")
		}
		for _, key := range []string{workv1alpha1.AnnotationRecord, workv1alpha1.AnnotationGeneration} {
			if _, present := rev.Annotations[key]; !present {
				continue
			}
			switch rapid.IntRange(0, 3).Draw(t, key) {
			case 0:
				delete(rev.Annotations, key)
			case 1:
				rev.Annotations[key] = "junk"
			}
		}
	}
}

// What a newer version loses, the older one restores: the state is what it was.
func TestRestoreIsTheIdentity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := drawHub(t)
		_, _, _ = h.starts("v1.0.0")
		_, _, _ = h.starts("v1.1.0")
		before := h.state(t)
		damage(t, h)
		_, _, ended := h.starts("v1.0.0")
		require.True(t, ended)
		require.Equal(t, before, h.state(t))
		require.Empty(t, h.snapshots())
	})
}

// With another template nothing is restored, whatever was lost.
func TestRestoreLeavesAnEditedTemplateAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := drawHub(t)
		_, _, _ = h.starts("v1.0.0")
		_, _, _ = h.starts("v1.1.0")
		if rapid.Bool().Draw(t, "rolled out") {
			h.roll("v9")
		} else {
			h.edit("v9")
		}
		damage(t, h)
		live := h.state(t)
		_, _, ended := h.starts("v1.0.0")
		require.True(t, ended)
		require.Equal(t, live, h.state(t))
		require.Empty(t, h.snapshots())
	})
}

// A process that is killed after any write, and started again, comes to the same end, for each change of versions (P5). A process of the other
// version in between changes nothing about it, as long as its controller did nothing.
func TestKilledAfterEveryWrite(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := drawHub(t)
		_, _, _ = h.starts("v1.0.0")
		for range rapid.IntRange(1, 4).Draw(t, "changes") {
			build := fmt.Sprintf("v1.%d.0", rapid.IntRange(0, 3).Draw(t, "build"))
			if rapid.Bool().Draw(t, "lost") {
				damage(t, h)
			}
			whole := h.copy()
			whole.writes, whole.made = -1, 0
			d, _, ended := whole.starts(build)
			require.True(t, ended)
			for n := range whole.made {
				parts := h.copy()
				parts.writes = n
				_, _, ended := parts.starts(build)
				require.False(t, ended)
				require.Equal(t, h.recorded, parts.recorded, "half done is not recorded as done")
				parts.writes = -1
				_, _, ended = parts.starts(build)
				require.True(t, ended)
				require.Equal(t, whole.state(t), parts.state(t), "killed after %d writes of %s", n, d.Action)
				require.Equal(t, whole.object.Annotations, parts.object.Annotations)
				require.Equal(t, whole.recorded, parts.recorded)
			}
			h = whole

			h.made = 0
			_, _, _ = h.starts(build)
			require.Zero(t, h.made, "a second start writes nothing (P7)")
			require.LessOrEqual(t, len(h.snapshots()), KeptSnapshots)
		}
	})
}

// Replicas of two versions hand the lease back and forth, and somebody edits the template in between: the edit and its rollout survive.
func TestLeaseThatGoesBackAndForth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := drawHub(t)
		_, _, _ = h.starts("v1.0.0")
		for n := range rapid.IntRange(2, 6).Draw(t, "leaders") {
			live := h.state(t)
			_, _, ended := h.starts(fmt.Sprintf("v1.%d.0", n%2))
			require.True(t, ended)
			require.Equal(t, live, h.state(t), "leader %d", n)
			switch rapid.SampledFrom([]string{"", "edit", "roll", "complete", "abort", "undo"}).Draw(t, "meanwhile") {
			case "edit":
				h.edit(fmt.Sprintf("edited-%d", n))
			case "roll":
				h.roll(fmt.Sprintf("rolled-%d", n))
			case "complete":
				h.complete(h.updated(), 100+n)
			case "abort":
				if h.object.Status.CurrentRevision != h.object.Status.UpdateRevision {
					h.abort(h.updated(), 100+n)
				}
			case "undo":
				h.roll("v1")
			}
		}
	})
}

// updated is the version whose rollout is under way.
func (h *hub) updated() string {
	for _, rev := range h.revisions {
		if rev.Labels[workv1alpha1.LabelControllerHash] == h.object.Status.UpdateRevision {
			return strings.TrimPrefix(string(rev.UID), "uid-")
		}
	}
	panic("there is no update revision")
}

// FuzzSnapshot: whatever stands in the annotation of a snapshot, what is restored of it is what a hub may have written, and it has a budget.
func FuzzSnapshot(f *testing.F) {
	const key = workv1alpha1.AnnotationSnapshotPrefix + "v1.0.0"
	f.Add(``)
	f.Add(`{"uid":"uid","generation":3,"status":{"collisionCount":2147483639,"updateRevision":"bogus"}}`)
	f.Add(`{"uid":"uid","generation":3,"status":{"abortedTime":"9999-12-31T23:59:59Z"},"revisions":[{"hash":"a","number":9223372036854775807}]}`)
	f.Add(`{"uid":"uid","generation":3,"status":{},"revisions":[{"hash":"","number":-1,"annotations":{"":""}},{},{},{}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		h := upgraded(t, newHub(3))
		h.object.Annotations[key], h.object.Generation = text, 3
		h.object.Status.CollisionCount = nil
		budget.Within(t, 20*time.Second, 16<<20+1000*uint64(len(text)), func() { h.starts("v1.0.0") })
		if count := ptr.Deref(h.object.Status.CollisionCount, 0); count < 0 || count > 20 {
			t.Fatalf("%d collisions", count)
		}
		for _, rev := range h.revisions {
			if rev.Revision < 0 || rev.Revision > maxNumber {
				t.Fatalf("revision number %d", rev.Revision)
			}
		}
	})
}
