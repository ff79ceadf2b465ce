package dashboard

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/open-cluster-management-io/work-rollback/internal/fleettest"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
)

// begin is when the clusters of these tests succeeded.
var begin = time.Now().Add(-time.Minute).Truncate(time.Second)

func fleetOf(n int, inFlight ...string) *view.Objects {
	return fleettest.Objects(n, begin, inFlight...)
}

// A difference has the changed cells only, and nothing if nothing has changed.
func TestDifference(t *testing.T) {
	before, after := pictureOf(fleetOf(200)), pictureOf(fleetOf(200, "c7", "c9"))
	require.Nil(t, updateOf(before, pictureOf(fleetOf(200)), 1))
	u := updateOf(before, after, 1)
	require.Len(t, u.Index, 2)
	for k, i := range u.Index {
		require.Equal(t, []string{"c7", "c9"}[k], after.Cells[i].Name)
	}
	require.Len(t, u.Texts, 1, "the message is sent once")
	require.Nil(t, u.Groups)
	require.NotNil(t, u.Head, "the counts have changed")
	require.True(t, updateOf(before, pictureOf(fleetOf(201)), 1).Whole, "a cluster came")
}

// The picture of 10,000 clusters is small enough to be there at once.
func TestLargePicture(t *testing.T) {
	data, err := json.Marshal(updateOf(nil, pictureOf(fleetOf(10_000)), 1))
	require.NoError(t, err)
	require.Less(t, len(data), 1<<20)
}
