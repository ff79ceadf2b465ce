package plan

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/open-cluster-management-io/work-rollback/internal/budget"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/ledger"
)

// drawHub returns a hub in any state: with any history, complete, in progress or aborted.
func drawHub(t *rapid.T) *hub {
	n := rapid.IntRange(1, 5).Draw(t, "revisions")
	h := newHub(n)
	switch rapid.SampledFrom([]string{"under way", "aborted", "complete", "undone"}).Draw(t, "state") {
	case "aborted":
		h.abort(100)
	case "complete":
		h.complete(100)
	case "undone":
		h.complete(100)
		h.roll("v1", 101)
	}
	return h
}

// unreadable are texts that this version can't read.
var unreadable = []string{"", "junk", `{"format":1,"owner":"other","seq":70}`, `{"format":2,"owner":"uid","seq":80}`, `{"format":2,"owner":"uid","seq":81}`}

// damage makes one place unreadable, or both. An intact status with a later copy is excluded: a process that is killed between the copy
// and the status continues with the status.
func damage(t *rapid.T, h *hub) {
	places := rapid.SampledFrom([][]string{{"status"}, {"copy"}, {"status", "copy"}}).Draw(t, "places")
	for _, place := range places {
		texts := unreadable
		if len(places) == 1 {
			texts = unreadable[:3]
		}
		h.holdIn(place, rapid.SampledFrom(texts).Draw(t, place))
	}
	if len(places) == 2 {
		h.object.Status = workv1alpha1.ManifestWorkReplicaSetStatus{Ledger: h.object.Status.Ledger}
	}
}

// The older version restores the state that a newer version loses: the decisions are unchanged, and both places are readable.
func TestRestoreIsTheIdentity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := upgraded(t, drawHub(t))
		before := h.decisions()
		damage(t, h)
		_, _, ended := h.starts("v1.0.0")
		require.True(t, ended)
		require.NoError(t, h.counting().Later)
		require.Equal(t, before, h.decisions())
		require.Empty(t, h.snapshots())
	})
}

// A process that is killed after any write and restarted has the same result, for each change of versions (P5). A process of the other
// version in between changes nothing, as long as its controller did nothing.
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
				require.Equal(t, h.recorded, parts.recorded, "an incomplete change is not recorded as done")
				parts.writes = -1
				_, _, ended = parts.starts(build)
				require.True(t, ended)
				require.Equal(t, whole.decisions(), parts.decisions(), "killed after %d writes of %s", n, d.Action)
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

// Replicas of two versions hand the lease back and forth, and the template is edited in between: the edit and its rollout survive.
func TestLeaseThatGoesBackAndForth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := drawHub(t)
		_, _, _ = h.starts("v1.0.0")
		for n := range rapid.IntRange(2, 6).Draw(t, "leaders") {
			live := h.copy()
			_, _, ended := h.starts(fmt.Sprintf("v1.%d.0", n%2))
			require.True(t, ended)
			require.Equal(t, live.object.Status, h.object.Status, "leader %d", n)
			require.Equal(t, live.object.Spec, h.object.Spec, "leader %d", n)
			require.Equal(t, live.revisions, h.revisions, "leader %d", n)
			switch rapid.SampledFrom([]string{"", "edit", "roll", "complete", "abort", "undo"}).Draw(t, "meanwhile") {
			case "edit":
				h.object.Spec.ManifestWorkTemplate = *template(fmt.Sprintf("edited-%d", n))
			case "roll":
				h.roll(fmt.Sprintf("rolled-%d", n), 200+n)
			case "complete":
				h.complete(200 + n)
			case "abort":
				h.abort(200 + n)
			case "undo":
				h.roll("v1", 200+n)
			}
		}
	})
}

// FuzzSnapshot: whatever the annotation of a snapshot contains, only a ledger of this object is restored, with a number that the next
// decision can still increment. The fuzzing has a time budget.
func FuzzSnapshot(f *testing.F) {
	f.Add(``)
	f.Add(`{"format":1,"owner":"uid","seq":3}`)
	f.Add(`{"format":1,"owner":"uid","seq":3,"update":{"hash":"../web"},"troubles":[{"cluster":"c1","state":"?"}],"halted":{"p":"9999-12-31T23:59:59Z"}}`)
	f.Add(`{"format":1,"owner":"uid","seq":3,"abort":{"at":"0000-01-01T00:00:00Z"},"counted":{"p":-1},"collisions":2147483647}`)
	f.Fuzz(func(t *testing.T, text string) {
		h := upgraded(t, newHub(3))
		h.object.Annotations[snapshotOf100] = text
		h.holdIn("status", "")
		h.holdIn("copy", "")
		var r Restoration
		budget.Within(t, 20*time.Second, 16<<20+1000*uint64(len(text)), func() { _, r, _ = h.starts("v1.0.0") })
		if !r.Restored {
			require.Empty(t, h.object.Status.Ledger)
			return
		}
		restored, err := ledger.Decode(h.object.Status.Ledger, "uid")
		if kept, errKept := ledger.Decode(text, "uid"); errKept == nil && kept.Seq < 1<<53 {
			require.NoError(t, err)
			require.Equal(t, kept.Seq+1, restored.Seq)
		}
	})
}
