package memory

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	"github.com/open-cluster-management-io/work-rollback/pkg/lifecycle"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
)

// What the status can't hold is known by this process, and the zero value is that nothing is.
func TestWhatTheStatusCannotHold(t *testing.T) {
	m, now := &Owners{}, rt.At(0)
	nothing := m.Recall(owner, now)
	require.Empty(t, nothing.Unrecorded)
	nothing.Unrecorded = nil
	require.Zero(t, nothing)
	require.Zero(t, m.Collisions(owner))
	m.Note(owner, &lifecycle.Outcome{Keep: true, Decision: lifecycle.Decision{Revisions: status.Revisions{UpdateRevision: "b"}}, Completed: "a", Incomplete: ptr.To("b")})
	m.Collided(owner, 3)
	m.Note(owner, &lifecycle.Outcome{Decision: lifecycle.Decision{Revisions: status.Revisions{UpdateRevision: "c"}}})
	known := m.Recall(owner, now)
	require.Equal(t, status.Revisions{UpdateRevision: "b"}, known.Kept, "nothing else is kept unless the plan says so")
	require.Equal(t, []string{"a", "b"}, []string{known.Completed, known.Incomplete})
	require.Equal(t, int32(3), m.Collisions(owner))
	m.Note(owner, &lifecycle.Outcome{Incomplete: ptr.To("")})
	require.Empty(t, m.Recall(owner, now).Incomplete)
	m.Prunes(owner, true, false, now)
	require.True(t, m.Recall(owner, now).Pruned)
}

func digestOf(m *Owners, hash string) revision.Digest {
	return m.Recall(owner, rt.At(0)).Unrecorded[hash]
}

func (m *Owners) rolledOut(hash string, digest revision.Digest) {
	m.Note(owner, &lifecycle.Outcome{RolledOut: lifecycle.RolledOut{Hash: hash, Digest: digest}})
}

// Of what was rolled out without a history the latest ten are known, each by the digest that it had last.
func TestRolledOut(t *testing.T) {
	m := &Owners{}
	require.Empty(t, digestOf(m, "0"))
	for i := range unrecordedKept + 1 {
		m.rolledOut(strconv.Itoa(i), revision.Digest("d"+strconv.Itoa(i)))
	}
	require.Empty(t, digestOf(m, "0"))
	require.Equal(t, revision.Digest("d1"), digestOf(m, "1"))
	m.rolledOut("5", "other")
	require.Equal(t, revision.Digest("other"), digestOf(m, "5"))
	require.Equal(t, revision.Digest("d1"), digestOf(m, "1"), "one that comes again takes no other one's place")
}

// The reason of an abort, and what was written back in it, are those of that abort only.
func TestAborts(t *testing.T) {
	m := &Owners{}
	at, other := metav1.NewTime(rt.At(0)), metav1.NewTime(rt.At(time.Minute))
	m.AbortedFor(owner, &at, "3 clusters failed")
	aborted := m.Recall(owner, rt.At(0)).Aborted
	require.Equal(t, "3 clusters failed", aborted.ReasonAt(&at))
	require.Empty(t, aborted.ReasonAt(&other))
	require.Empty(t, aborted.ReasonAt(nil))
	m.WroteBack(owner, "first", "c1")
	m.WroteBack(owner, "first", "c2")
	back := m.WrittenBack(owner)
	require.Equal(t, lifecycle.WrittenBack{Abort: "first", Clusters: map[string]bool{"c1": true, "c2": true}}, back)
	back.Clusters["c3"] = true
	require.Len(t, m.WrittenBack(owner).Clusters, 2, "a copy")
	m.WroteBack(owner, "second", "c1")
	require.Equal(t, lifecycle.WrittenBack{Abort: "second", Clusters: map[string]bool{"c1": true}}, m.WrittenBack(owner))
}

// An abort is known from the pass that left it to the one that carried it out.
func TestAborting(t *testing.T) {
	a := NewAborting()
	require.Equal(t, NoAbort, a.Of(owner))
	a.Note(owner, AbortUnderWay)
	require.Equal(t, AbortUnderWay, a.Of(owner))
	require.Equal(t, NoAbort, a.Of("demo/other"))
	a.Note(owner, NoAbort)
	require.Equal(t, NoAbort, a.Of(owner))
}
