package view_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// TestViewsChangeNoWorks: the requests of a dashboard show the same objects at the same time, so a view must not write to the works.
func TestViewsChangeNoWorks(t *testing.T) {
	o := objects(t, func(o *view.Objects) { o.Works = []work.Work{succeeding(t, "c1", "v2"), written(t, "c2", "v1")} })
	before := slices.Clone(o.Works)
	view.FleetOf(o)
	_, err := view.Why(o, "c1")
	require.NoError(t, err)
	require.Equal(t, before, o.Works)
}

// TestCopiedWork: a work that a user copied, with its labels, does not count as another cluster, as it does not for the hub.
func TestCopiedWork(t *testing.T) {
	o := objects(t, func(o *view.Objects) {
		copied := succeeding(t, "c1", "v2")
		copied.Object.Name = "a-copy"
		o.Works = []work.Work{succeeding(t, "c1", "v2"), copied}
	})
	require.Contains(t, view.EffectOf(o, view.VerbAbort, nil, nil).Then, "to 1 cluster that has revision 2")
}
