package integration

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// placeRaw creates a Placement whose only decision has these names unchanged. No placement controller changes it.
func (f *fleet) placeRaw(name string, clusters ...string) {
	f.t.Helper()
	ctx := f.t.Context()
	placements := f.w.clusters.ClusterV1beta1().Placements(f.namespace)
	placement, err := placements.Create(ctx, &clusterv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{
		Name: name, Annotations: map[string]string{clusterv1beta1.PlacementDisableAnnotation: "true"},
	}}, metav1.CreateOptions{})
	require.NoError(f.t, err)
	f.decideRaw(name, clusters...)
	placement.Status.NumberOfSelectedClusters = int32(len(clusters)) //nolint:gosec // a few
	_, err = placements.UpdateStatus(ctx, placement, metav1.UpdateOptions{})
	require.NoError(f.t, err)
}

func (f *fleet) decideRaw(name string, clusters ...string) {
	f.t.Helper()
	f.decide(name, name+"-decision-1", 0)
	decisions := f.w.clusters.ClusterV1beta1().PlacementDecisions(f.namespace)
	decision, err := decisions.Get(f.t.Context(), name+"-decision-1", metav1.GetOptions{})
	require.NoError(f.t, err)
	for _, cluster := range clusters {
		decision.Status.Decisions = append(decision.Status.Decisions, clusterv1beta1.ClusterDecision{ClusterName: cluster})
	}
	_, err = decisions.UpdateStatus(f.t.Context(), decision, metav1.UpdateOptions{})
	require.NoError(f.t, err)
}

// A tenant's decision with MQTT wildcards does not affect other tenants: the broker does not end the hub's connection. A cluster may have
// the name of the hub's client.
func TestMosquittoNamesThatNoClusterCanHave(t *testing.T) {
	t.Parallel()
	b := newMosquitto(t)
	f := newEventFleet(t, "mosquitto-names", "mqtt", b.sourceConfig(), b.agentConfig, &sent{})
	f.start(all("None", 0))

	require.NoError(t, f.w.fleet.Namespace(t.Context(), "attacker"))
	attacker := &fleet{t: t, w: f.w, name: "web", namespace: "attacker"}
	attacker.placeRaw("p1", "a+0", "+", "#", "a/b", "..", "c1\u0001", "$SYS", strings.Repeat("a", 64<<10), "mwrsctrl")
	attacker.create("v1", ref("p1", all("None", 8)))
	eventually(t, "the names fail", func() error {
		if mwrs := attacker.get(); len(mwrs.Status.Failures) != 8 {
			return fmt.Errorf("%s", describe(mwrs))
		}
		return nil
	})
	require.Nil(t, meta.FindStatusCondition(attacker.get().Status.Conditions, "Stalled"))

	for version := 2; version < 5; version++ {
		next, began := fmt.Sprintf("v%d", version), time.Now()
		f.edit(func(mwrs *workv1alpha1.ManifestWorkReplicaSet) {
			mwrs.Spec.ManifestWorkTemplate = realTemplate(next, true)
		})
		f.deploys(map[string]string{"c1": next, "c2": next})
		t.Logf("%s is everywhere after %s", next, time.Since(began))
		require.Less(t, time.Since(began), inTime)
	}
}
