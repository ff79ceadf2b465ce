package status

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// TestGroups: the status names each listed group that holds other groups back, and describes what it waits for, unless its placementRef
// starts nothing anyway.
func TestGroups(t *testing.T) {
	object := &workv1alpha1.ManifestWorkReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop"}}
	plan := &rollout.Plan{
		Refs: []rollout.RefOutcome{{Ref: &placement.Ref{Name: "p1"}}, {Ref: &placement.Ref{Name: "p2"}, Halted: true}, {Ref: &placement.Ref{Name: "p3"}, Unknown: true}},
		Groups: []rollout.GroupState{
			{Placement: "p1", Group: "done", State: rollout.GroupDone},
			{Placement: "p1", Group: "canary", State: rollout.GroupRunning, Unfinished: []string{"c1"}},
			{Placement: "p1", Group: "baking", State: rollout.GroupBaking, Until: time.Date(2026, 11, 28, 12, 32, 0, 5, time.FixedZone("", 7200))},
			{Placement: "p1", Group: "$(id)\n", State: rollout.GroupUnapproved},
			{Placement: "p1", Group: "later", State: rollout.GroupWaiting, For: "canary"},
			{Placement: "p1", Group: "sick", State: rollout.GroupFailed},
			{Placement: "p1", Group: "7", State: rollout.GroupMissing},
			{Placement: "p2", Group: "halted", State: rollout.GroupBaking},
			{Placement: "p3", Group: "unknown", State: rollout.GroupMissing},
		},
	}
	require.Equal(t, []string{
		"group canary of Placement p1 goes first: waiting for 1 cluster (c1)",
		"group baking of Placement p1 bakes until 2026-11-28T10:32:00Z",
		"group $(id) of Placement p1 waits for its approval: kubectl mwrs approve web --group '$(id)' -n shop",
		"group sick of Placement p1 has failed on every cluster: no later cluster starts until one of its clusters succeeds",
		"group 7 of Placement p1 waits: no PlacementDecision has this group, or its clusters belong to another placementRef; no later cluster starts; " +
			"correct rolloutStrategy.groups, or make its clusters available",
	}, Groups(object, plan))
}
