package simulation

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// drawRings lists decision groups, in half of the strategies. The last one rarely exists.
func drawRings(t *rapid.T) []workv1alpha1.RolloutGroup {
	bake := func() *metav1.Duration {
		return &metav1.Duration{Duration: rapid.SampledFrom([]time.Duration{0, 20 * time.Second, 5 * time.Minute}).Draw(t, "bakeTime")}
	}
	g0 := workv1alpha1.RolloutGroup{GroupName: "g0", BakeTime: bake()}
	g1 := workv1alpha1.RolloutGroup{GroupIndex: ptr.To[int32](1), BakeTime: bake()}
	lists := [][]workv1alpha1.RolloutGroup{nil, nil, nil, {g0}, {g1}, {g1, g0}, {{GroupName: "none"}}}
	return rapid.SampledFrom(lists).Draw(t, "groups")
}
