package integration

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFirstRolloutAndUpdate(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3)
	f.place("p1", []string{"c1", "c2", "c3"})
	f.create("v1", ref("p1", progressive(1, "5s", 0)))
	f.everywhere("v1")
	mwrs := f.complete()
	require.NotEmpty(t, mwrs.Status.CurrentRevision)
	require.Equal(t, mwrs.Status.CurrentRevision, mwrs.Status.UpdateRevision)
	require.Equal(t, 3, mwrs.Status.Summary.Updated)
	require.Equal(t, 3, mwrs.Status.Summary.DesiredTotal)

	f.update("v2")
	f.everywhere("v2")
	mwrs = f.complete()
	require.Len(t, f.revisions(), 2)
	require.Equal(t, 3, mwrs.Status.Summary.Available)
}

func TestAbortProgressive(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3)
	f.place("p1", []string{"c1", "c2", "c3"})
	f.create("v1", ref("p1", progressive(1, "3s", 0, abortAll)))
	before := f.complete()

	f.agentsReport("", "v2", hangs)
	f.update("v2")
	mwrs := f.aborted()
	f.everywhere("v1")
	require.NotNil(t, mwrs.Status.AbortedTime)
	require.Equal(t, before.Status.CurrentRevision, mwrs.Status.CurrentRevision)
	require.NotEqual(t, mwrs.Status.CurrentRevision, mwrs.Status.UpdateRevision)
	require.Zero(t, mwrs.Status.Summary.Updated)
}
