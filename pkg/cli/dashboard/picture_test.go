package dashboard

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/open-cluster-management-io/work-rollback/internal/fleettest"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
)

// begin is the time at which the clusters of these tests succeeded.
var begin = time.Now().Add(-time.Minute).Truncate(time.Second)

func fleetOf(n int, inFlight ...string) *view.Objects {
	return fleettest.Objects(n, begin, inFlight...)
}

// TestLargePicture: the picture of 10,000 clusters is small enough to load quickly.
func TestLargePicture(t *testing.T) {
	data, err := encoded(pictureOf(fleetOf(10_000)))
	require.NoError(t, err)
	require.Less(t, len(data), 2<<20)
}
