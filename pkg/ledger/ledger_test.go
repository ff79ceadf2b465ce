package ledger

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/utils/ptr"

	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// A rollout begins, is aborted, is retried and ends. The facts about a rollout are removed when it is replaced.
func TestTransitions(t *testing.T) {
	l := &Ledger{}
	require.False(t, l.Complete())
	l.Begin(named("a"), New, at(0), false)
	require.False(t, l.Complete())
	require.False(t, l.Begun.Again())
	l.End(at(1))
	require.True(t, l.Complete())
	require.Equal(t, named("a"), l.Current)

	l.Begin(named("b"), Found, at(2), true)
	require.True(t, l.Begun.Again())
	require.Zero(t, l.Ended)
	require.Equal(t, Beginning{At: at(2), How: Found, AtOnce: true}, l.Begun)
	spoil := func() {
		l.Abort, l.Lost = &revision.Abort{At: at(3)}, true
		l.SetTroubles([]Trouble{{Cluster: "c1", State: Failed}})
		l.Halted, l.Counted = map[string]time.Time{"p": at(3)}, map[string]int{"p": 4}
	}
	spoil()
	l.Retry(at(4))
	require.Equal(t, &Ledger{
		Update: named("b"), Current: named("a"), Begun: Beginning{At: at(2), How: Found, Retried: at(4)},
	}, l, "what the clusters did before says nothing about the retry")
	require.Equal(t, at(4), l.Begun.Last())
	require.False(t, l.Complete())

	spoil()
	l.Begin(named("c"), New, at(5), false)
	require.Equal(t, &Ledger{Update: named("c"), Current: named("a"), Begun: Beginning{At: at(5), How: New}}, l)
	require.Equal(t, at(5), l.Begun.Last())

	l.Lost = true
	l.SetTroubles([]Trouble{{Cluster: "c1", State: Failed}})
	l.End(at(4))
	require.Equal(t, at(5), l.Ended, "the clock was set back")
	require.False(t, l.Lost)
	require.Len(t, l.Troubles, 1, "tolerated failures stay")
	l.Begun.Retried = at(7)
	require.True(t, l.Begun.Again())
	l.End(at(6))
	require.Equal(t, at(7), l.Ended)
}

// roll rolls out revisions completely, one after the other.
func roll(hashes string) *Ledger {
	l := &Ledger{}
	for _, hash := range strings.Fields(hashes) {
		l.Begin(named(hash), New, at(0), false)
		l.End(at(1))
	}
	return l
}

// Former revisions are older than the stable one: an undo drops the revision that the user rolled back, and a redo is not an undo.
func TestFormer(t *testing.T) {
	for name, tc := range map[string]struct {
		rolled, former string
		// undo holds the revisions whose rollout would now be an undo. known holds the known revisions with their positions.
		undo, known string
	}{
		"none":                         {},
		"one":                          {rolled: "a", known: "a=0"},
		"three":                        {rolled: "a b c", former: "b a", undo: "a b", known: "a=2 b=1 c=0"},
		"the same again":               {rolled: "a b b", former: "a", undo: "a", known: "a=1 b=0"},
		"an undo":                      {rolled: "a b c b", former: "a", undo: "a", known: "a=1 b=0"},
		"an undo by two":               {rolled: "a b c a", known: "a=0"},
		"a redo after an undo":         {rolled: "a b c b c", former: "b a", undo: "a b", known: "a=2 b=1 c=0"},
		"a redo by two":                {rolled: "a b c a c", former: "a", undo: "a", known: "a=1 c=0"},
		"an undo after a redo":         {rolled: "a b a b a", known: "a=0"},
		"a new one after an undo by 2": {rolled: "a b c a d", former: "a", undo: "a", known: "a=1 d=0"},
	} {
		t.Run(name, func(t *testing.T) {
			l := roll(tc.rolled)
			var former, undo, known []string
			for _, f := range l.Former {
				former = append(former, f.Hash)
			}
			require.Equal(t, tc.former, strings.Join(former, " "))
			for _, hash := range []string{"a", "b", "c", "d"} {
				next := l.Clone()
				next.Begin(named(hash), New, at(2), false)
				if next.Undoes() {
					undo = append(undo, hash)
				}
				place, formerly := l.Formerly(named(hash).Digest)
				if formerly {
					known = append(known, fmt.Sprintf("%s=%d", hash, place))
				}
				require.Equal(t, formerly, l.WasCurrent(hash), hash)
			}
			require.Equal(t, tc.undo, strings.Join(undo, " "))
			require.Equal(t, tc.known, strings.Join(known, " "))
			require.False(t, l.Undoes(), "it is complete")
			_, formerly := l.Formerly("")
			require.False(t, formerly)
			require.False(t, l.WasCurrent(""))
		})
	}
}

// The ledger has at most the 20 latest former revisions.
func TestFormerIsBounded(t *testing.T) {
	var all []string
	for i := range 30 {
		all = append(all, fmt.Sprintf("r%d", i))
	}
	l := roll(strings.Join(all, " "))
	require.Len(t, l.Former, 20)
	require.Equal(t, []Named{named("r28"), named("r9")}, []Named{l.Former[0], l.Former[19]})
}

// A revision that was deleted and recreated has the same content under another hash. Its rollout is still an undo, and Former does not list
// the same content twice.
func TestFormerByContent(t *testing.T) {
	l := roll("a b")
	again := Named{Hash: "a2", Digest: named("a").Digest}
	l.Begin(again, Returned, at(2), false)
	require.True(t, l.Undoes())
	l.End(at(3))
	require.Equal(t, again, l.Current)
	require.Empty(t, l.Former)
	l.MakeCurrent(Named{Hash: "a3", Digest: again.Digest}, "c1")
	require.Empty(t, l.Former)
	require.Equal(t, "c1", l.OnlyOn)
}

// A return to the stable revision during a rollout is not an undo.
func TestReturnToTheStableRevision(t *testing.T) {
	l := roll("a b")
	l.Begin(named("c"), New, at(2), false)
	l.Begin(named("b"), Returned, at(3), false)
	require.False(t, l.Undoes())
}

func TestForgetCurrent(t *testing.T) {
	l := roll("a b")
	l.OnlyOn, l.Begun.AtOnce, l.Approvals = "c1", true, []revision.Approval{{Group: "canary"}}
	l.ForgetCurrent()
	require.Empty(t, l.Approvals)
	require.False(t, l.Begun.AtOnce)
	require.Equal(t, "b", l.Surpassed)
	require.Zero(t, l.Ended, "its rollout is in progress again")
	require.Zero(t, l.Current)
	require.Empty(t, l.Former)
	require.Empty(t, l.OnlyOn)
	_, formerly := l.Formerly(named("a").Digest)
	require.False(t, formerly, "nothing is known about what is older")
	l.MakeCurrent(named("c"), "")
	require.Empty(t, l.Surpassed)
	require.Empty(t, l.Former)
}

func TestTroubles(t *testing.T) {
	l := &Ledger{}
	l.SetTroubles([]Trouble{{Cluster: "c2", State: Rejected}, {Cluster: "c1", State: TriedAgain}, {Cluster: "c1", State: Failed, Message: "m"}})
	require.Equal(t, []Trouble{{Cluster: "c1", State: Failed, Message: "m"}, {Cluster: "c1", State: TriedAgain}, {Cluster: "c2", State: Rejected}}, l.Troubles)
	require.Equal(t, map[string]Trouble{"c1": {Cluster: "c1", State: Failed, Message: "m"}}, l.TroublesIn(Failed))
	short := l.Short()
	require.Empty(t, short.Troubles[0].Message)
	require.Equal(t, "m", l.Troubles[0].Message)
}

// A clone shares nothing that a transition modifies.
func TestClone(t *testing.T) {
	l := full("m")
	before := text(l)
	c := l.Clone()
	require.True(t, c.Equal(l))
	c.Former[0], c.Troubles[0], c.Abort.At, c.Halted["p"], c.Counted["p"] = Named{}, Trouble{}, at(99), at(99), 99
	c.Approvals[0] = revision.Approval{}
	c.Retry(at(99))
	require.Equal(t, before, text(l))
}

// If an older CRD drops the field, a preserving deletion continues to preserve the workloads. Only the value false ends that.
func TestPreserves(t *testing.T) {
	for _, test := range []struct {
		asked         *bool
		decided, want bool
	}{
		{nil, false, false},
		{nil, true, true},
		{ptr.To(true), false, true},
		{ptr.To(false), true, false},
	} {
		require.Equal(t, test.want, numbered(1, func(l *Ledger) { l.Preserve = test.decided }).Preserves(test.asked))
	}
}
