package integration

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/controlplane"
	"github.com/open-cluster-management-io/work-rollback/pkg/hub"
)

// --work-driver=kube with a kubeconfig: the works are on that API server, and everything else is on the hub's own. Here, the API server of
// the other tests has the works: its agents are there, and its manager finds no owner of these works.
func TestWorksOnAnotherServer(t *testing.T) {
	t.Parallel()
	owners := privateWorld(t, "owners")
	both := *owners
	other, err := suite()
	require.NoError(t, err)
	both.works, both.agents = other.works, other.agents
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, controlplane.WriteKubeconfig(kubeconfig, "works", other.plane.RESTConfig()))
	options := hub.NewOptions()
	options.SuccessSettle, options.WorkDriverConfig = settle, kubeconfig
	stop := owners.startManagerWith(t.Context(), options, clock.RealClock{})
	defer func() { stop() }()

	f := newFleetIn(&both, t, 2)
	for _, short := range f.clusters {
		require.NoError(t, other.fleet.Namespace(t.Context(), f.cluster(short)))
	}
	f.place("p1", f.clusters)
	f.create("v1", ref("p1", progressive(1, "3s", 0, abortAll)))
	f.complete()
	f.everywhere("v1")
	f.abort(hangs)
	f.everywhere("v1")

	// A restarted hub also reads the works there, and has nothing to do.
	stop()
	before := f.generations()
	require.Equal(t, map[string]int64{"c1": 3, "c2": 1}, before)
	stop = owners.startManagerWith(t.Context(), options, clock.RealClock{})
	f.update("v3")
	f.complete()
	require.Equal(t, map[string]int64{"c1": 4, "c2": 2}, f.generations())
	require.Equal(t, []string{"v1", "v2", "v3"}, f.recorded())

	works, err := owners.works.WorkV1().ManifestWorks("").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Empty(t, works.Items, "the hub's own API server has none")
	f.delete()
	f.gone()
	require.Empty(t, f.works())
}
