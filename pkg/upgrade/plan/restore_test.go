package plan

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/ledger"
)

// aborting is a hub of v1.0.0 on which v1.1.0 started. Its rollout of v3 was aborted back to v2.
func aborting(t *testing.T) *hub {
	t.Helper()
	h := newHub(3)
	h.abort(30)
	return upgraded(t, h)
}

// later is a ledger that a later release wrote.
const later = `{"format":2,"owner":"uid","seq":90,"update":["anything"]}`

// The ledger is restored if neither place has one that this version can read. Its number is then higher than both.
func TestRestore(t *testing.T) {
	for name, tc := range map[string]struct {
		status, copied string
		restored       bool
		seq            int64
	}{
		"nothing was lost":                       {status: "as it was", copied: "as it was"},
		"the status was lost, the copy applies":  {copied: "as it was"},
		"the copy was lost, the status applies":  {status: "as it was"},
		"the status is unreadable":               {status: "{", copied: "as it was"},
		"the copy is unreadable":                 {status: "as it was", copied: "junk"},
		"both were lost":                         {restored: true, seq: 7},
		"both are unreadable":                    {status: "{", copied: `{"seq":50}`, restored: true, seq: 51},
		"both are later":                         {status: later, copied: strings.Replace(later, "90", "91", 1), restored: true, seq: 92},
		"the status is later, the copy lost":     {status: later, restored: true, seq: 91},
		"the copy is later, the status lost":     {copied: later, restored: true, seq: 91},
		"the status is another object's":         {status: strings.Replace(later, "uid", "other", 1), restored: true, seq: 91},
		"numbers that no hub writes are ignored": {status: `{"seq":9007199254740993}`, copied: `{"seq":-4}`, restored: true, seq: 7},
	} {
		t.Run(name, func(t *testing.T) {
			h := aborting(t)
			before, fields := h.decisions(), *h.object.Status.DeepCopy()
			for place, text := range map[string]string{"status": tc.status, "copy": tc.copied} {
				if text != "as it was" {
					h.holdIn(place, text)
				}
			}
			if tc.restored {
				h.object.Status = workv1alpha1.ManifestWorkReplicaSetStatus{Ledger: tc.status}
			}
			_, r, ended := h.starts("v1.0.0")
			require.True(t, ended)
			require.True(t, r.Fits)
			require.Empty(t, r.Kept)
			require.Equal(t, tc.restored, r.Restored)
			require.Empty(t, h.snapshots())

			reading := h.counting()
			require.NoError(t, reading.Later)
			require.Equal(t, before, h.decisions())
			if !tc.restored {
				require.Nil(t, r.Status)
				require.Empty(t, r.Revisions)
				return
			}
			require.Equal(t, tc.seq, reading.Ledger.Seq)
			require.True(t, reading.InStatus)
			require.True(t, reading.InCopy, "so that it applies, whatever else was lost")
			fields.Ledger, fields.Failures[0].Message = h.object.Status.Ledger, ""
			require.Equal(t, fields, h.object.Status, "with its projection, so that no field counts as a command")
			require.Equal(t, ledger.Commands{Name: named("v2").Hash}, ledger.CommandsIn(&h.object.Status, &reading.Ledger))
		})
	}
}

// Changes since the snapshot are kept: a readable ledger may be newer than the snapshot.
func TestRestoreKeepsWhatHappenedSince(t *testing.T) {
	for name, since := range map[string]func(*hub){
		"an abort":                func(h *hub) { h.abort(50) },
		"a completed rollout":     func(h *hub) { h.complete(50) },
		"a new template":          func(h *hub) { h.roll("v4", 50) },
		"an undo":                 func(h *hub) { h.complete(50); h.roll("v1", 60) },
		"a retry":                 func(h *hub) { h.abort(50); h.decide(func(l *ledger.Ledger) { l.Retry(at(60)) }) },
		"another stable revision": func(h *hub) { h.decide(func(l *ledger.Ledger) { l.MakeCurrent(named("v1"), "") }) },
		"a collision":             func(h *hub) { h.decide(func(l *ledger.Ledger) { l.Collisions = 4 }) },
		"an abort by hand":        func(h *hub) { h.object.Status.AbortedBy = "alice" },
		"an edit to the object":   func(h *hub) { h.object.Spec.ManifestWorkTemplate = *template("v9") },
	} {
		t.Run(name, func(t *testing.T) {
			h := upgraded(t, newHub(3))
			since(h)
			live := h.copy()
			_, r, ended := h.starts("v1.0.0")
			require.True(t, ended)
			require.False(t, r.Restored)
			require.Empty(t, h.snapshots())
			require.Equal(t, live.object.Status, h.object.Status)
			require.Equal(t, live.object.Spec, h.object.Spec)
			require.Equal(t, live.revisions, h.revisions)
		})
	}
}

// A snapshot that is not a ledger of this object in this format is not restored, and the reason is reported.
func TestRestoreOfNoLedger(t *testing.T) {
	for name, tc := range map[string]struct{ snapshot, kept string }{
		"empty":            {"", "it is not a ledger"},
		"no JSON":          {"v1", "it is not a ledger"},
		"null":             {"null", "it is the ledger of another object"},
		"another object's": {`{"format":1,"owner":"other","seq":4}`, "it is the ledger of another object"},
		"a later one":      {later, "its format is 2, and this hub reads format 1"},
		"no number":        {`{"format":1,"owner":"uid"}`, "it has format 1 and number 0"},
		"too long":         {`{"format":1,"owner":"uid","seq":4}` + strings.Repeat(" ", 128<<10), "the maximum is 131072"},
	} {
		t.Run(name, func(t *testing.T) {
			h := aborting(t)
			h.object.Annotations[snapshotOf100] = tc.snapshot
			h.holdIn("status", "")
			h.holdIn("copy", "")
			live := h.copy()
			_, r, ended := h.starts("v1.0.0")
			require.True(t, ended)
			require.False(t, r.Fits)
			require.Contains(t, r.Kept, "the snapshot of version v1.0.0: ")
			require.Contains(t, r.Kept, tc.kept)
			require.Equal(t, live.object.Status, h.object.Status)
			require.Empty(t, h.snapshots())
		})
	}
}

// A GitOps tool that removes annotations also removes snapshots. The state is kept.
func TestRestoreWithoutASnapshot(t *testing.T) {
	h := aborting(t)
	h.object.Annotations = nil
	h.holdIn("status", later)
	_, r, ended := h.starts("v1.0.0")
	require.True(t, ended)
	require.Equal(t, Restoration{Annotations: map[string]any{}}, r)
	require.Equal(t, later, h.object.Status.Ledger)
}

// Without a history, the status is the only place.
func TestRestoreWithoutAHistory(t *testing.T) {
	h := aborting(t)
	before := h.decisions()
	h.revisions = nil
	h.holdIn("status", "")
	_, r, ended := h.starts("v1.0.0")
	require.True(t, ended)
	require.True(t, r.Restored)
	require.Equal(t, before, h.decisions())
}
