package memory

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
)

// Fields that the API server dropped are written again after a while, or as soon as an object shows that its CRD became a newer one.
func TestPruned(t *testing.T) {
	const owner = "demo/web"
	for name, test := range map[string]struct {
		// defaulted is whether the answer that had dropped fields had a default of our CRD.
		defaulted, seen bool
		later           time.Duration
		pruned          bool
	}{
		"the CRD is the same":                        {later: time.Minute, pruned: true},
		"nobody knows for a while":                   {later: PrunedInterval},
		"the object has the default now":             {seen: true},
		"it had the default, and lost fields anyway": {defaulted: true, seen: true, later: time.Minute, pruned: true},
	} {
		t.Run(name, func(t *testing.T) {
			m := &Owners{}
			m.Prunes(owner, true, test.defaulted, rt.At(0))
			m.Dropped(owner, ObservedGeneration, true, rt.At(0))
			require.True(t, m.PrunedLately(owner, rt.At(0)))
			if test.seen {
				m.Defaulted(owner)
			}
			require.Equal(t, test.pruned, m.PrunedLately(owner, rt.At(test.later)))
			require.Equal(t, test.pruned, m.DroppedLately(owner, ObservedGeneration, rt.At(test.later)), "status.observedGeneration")
			require.True(t, m.PrunedLast(owner), "until the API server has answered")
			m.Prunes(owner, false, test.defaulted, rt.At(test.later))
			require.False(t, m.PrunedLast(owner))
		})
	}
}
