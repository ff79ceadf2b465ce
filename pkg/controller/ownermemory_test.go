package controller

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	rt "github.com/open-cluster-management-io/work-rollback/pkg/rollout/rollouttest"
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
		"nobody knows for a while":                   {later: prunedInterval},
		"the object has the default now":             {seen: true},
		"it had the default, and lost fields anyway": {defaulted: true, seen: true, later: time.Minute, pruned: true},
	} {
		t.Run(name, func(t *testing.T) {
			m := &ownerMemory{}
			m.prunes(owner, true, test.defaulted, rt.At(0))
			require.True(t, m.prunedLately(owner, rt.At(0)))
			if test.seen {
				m.defaulted(owner)
			}
			require.Equal(t, test.pruned, m.prunedLately(owner, rt.At(test.later)))
			require.True(t, m.prunedLast(owner), "until the API server has answered")
			m.prunes(owner, false, test.defaulted, rt.At(test.later))
			require.False(t, m.prunedLast(owner))
		})
	}
}

// What a write fails with is told when it has failed for some time, and in the same words until the reason is another one.
func TestPersistingFailures(t *testing.T) {
	const owner, a, b = "demo/web", "cluster a", "cluster b"
	m := &ownerMemory{}
	see := func(at time.Duration, failures map[string]error) []string {
		return m.persisting(owner, []string{a, b}, failures, rt.At(at))
	}
	internal := func(text string) error { return apierrors.NewInternalError(errors.New(text)) }
	const told = "cluster a: Internal error occurred: one"
	require.Empty(t, see(0, nil))
	require.Empty(t, see(0, map[string]error{a: internal("one"), b: internal("one")}))
	require.Empty(t, see(time.Second, map[string]error{a: internal("two")}), "a hiccup")
	require.Equal(t, []string{told}, see(persistsAfter, map[string]error{a: internal("three"), b: errLater}))
	require.Equal(t, []string{told}, see(time.Minute, map[string]error{a: errLater, b: internal("one")}), "it was not tried")
	require.Equal(t, []string{"cluster a: simulated"}, see(time.Minute, map[string]error{a: apierrors.NewTooManyRequests("simulated", 1), b: internal("one")}))
	require.Empty(t, m.persisting(owner, []string{b}, map[string]error{b: internal("one")}, rt.At(time.Minute+time.Second)), "nobody wants to write a")
	require.Equal(t, []string{"cluster b: Internal error occurred: one"}, see(2*time.Minute, map[string]error{a: internal("one"), b: internal("two")}))
	require.Empty(t, see(3*time.Minute, nil))
}
