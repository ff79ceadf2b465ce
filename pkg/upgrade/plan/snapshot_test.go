package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/ledger"
)

const snapshotOf100 = workv1alpha1.AnnotationSnapshotPrefix + "v1.0.0"

// A snapshot is the ledger without the messages of its troubles.
func TestSnapshot(t *testing.T) {
	h := newHub(3)
	h.abort(30)
	before := h.counting()
	require.True(t, before.InStatus)
	require.True(t, before.InCopy)
	h = upgraded(t, h)
	kept, err := ledger.Decode(h.object.Annotations[snapshotOf100], "uid")
	require.NoError(t, err)
	short := before.Ledger.Short()
	require.True(t, kept.Equal(&short))
	require.Equal(t, before.Ledger.Seq, kept.Seq)
	require.Equal(t, []ledger.Named{named("v3"), named("v2")}, []ledger.Named{kept.Update, kept.Current})
	require.NotContains(t, h.object.Annotations[snapshotOf100], "crash loop")
}

// An object without a ledger that this version can read gets no snapshot.
func TestSnapshotOfNoLedger(t *testing.T) {
	for name, hold := range map[string]func(*hub){
		"no ledger":                   func(h *hub) { h.holdIn("status", ""); h.holdIn("copy", "") },
		"unreadable":                  func(h *hub) { h.holdIn("status", "{"); h.holdIn("copy", "junk") },
		"a later one":                 func(h *hub) { h.holdIn("status", `{"format":2,"owner":"uid","seq":90}`) },
		"a later copy":                func(h *hub) { h.holdIn("copy", `{"format":2,"owner":"uid","seq":90}`) },
		"the ledger of another owner": func(h *hub) { h.object.UID = "other" },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHub(2)
			hold(h)
			_, _, _ = h.starts("v1.0.0")
			_, _, ended := h.starts("v1.1.0")
			require.True(t, ended)
			require.Empty(t, h.snapshots())
		})
	}
}

// An unchanged ledger is not written again: a process that restarts after it was killed does not repeat a write. A ledger that has changed,
// because the older version has run since, replaces the snapshot.
func TestSnapshotIsReplaced(t *testing.T) {
	h := newHub(2)
	_, _, _ = h.starts("v1.0.0")
	h.writes, h.made = 1, 0
	_, _, ended := h.starts("v1.1.0")
	require.False(t, ended, "killed before the ConfigMap")
	first := h.object.Annotations[snapshotOf100]
	require.NotEmpty(t, first)

	again := h.copy()
	again.writes, again.made = -1, 0
	_, _, ended = again.starts("v1.1.0")
	require.True(t, ended)
	require.Equal(t, 1, again.made, "only the ConfigMap")
	require.Equal(t, first, again.object.Annotations[snapshotOf100])

	h.writes = -1
	d, _, _ := h.starts("v1.0.0")
	require.Equal(t, Proceed, d.Action)
	h.complete(60)
	_, _, ended = h.starts("v1.1.0")
	require.True(t, ended)
	require.NotEqual(t, first, h.object.Annotations[snapshotOf100])
}

// Snapshots of three versions are kept. Those of unlisted versions are removed.
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
	require.Equal(t, []string{"v1.1.0"}, h.snapshots(), "a snapshot of a newer version does not belong to this state")
}

// Three snapshots of full ledgers fit into the 256 KiB of an object's annotations.
func TestSnapshotIsBounded(t *testing.T) {
	h := newHub(25)
	h.decide(func(l *ledger.Ledger) {
		var troubles []ledger.Trouble
		for i := range workv1alpha1.MaxFailures {
			for _, state := range []ledger.State{ledger.Failed, ledger.Rejected} {
				troubles = append(troubles, ledger.Trouble{
					Cluster: fmt.Sprintf("%s-%s-%d", strings.Repeat("c", 50), state, i), State: state, Placement: strings.Repeat("p", 253), Since: at(1),
					Reason: workv1alpha1.FailureDeadlineExceeded, Message: strings.Repeat("<", workv1alpha1.MaxFailureMessage),
				})
			}
		}
		l.SetTroubles(troubles)
	})
	require.True(t, h.counting().InStatus)
	h = upgraded(t, h)
	require.Less(t, KeptSnapshots*len(h.object.Annotations[snapshotOf100]), 256<<10)
}
