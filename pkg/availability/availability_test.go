package availability

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
)

func TestOf(t *testing.T) {
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	condition := func(status metav1.ConditionStatus) []metav1.Condition {
		return []metav1.Condition{
			{Type: "Joined", Status: metav1.ConditionTrue},
			{Type: clusterv1.ManagedClusterConditionAvailable, Status: status, LastTransitionTime: metav1.NewTime(noon)},
		}
	}
	later := metav1.NewTime(noon.Add(time.Minute))
	for name, tc := range map[string]struct {
		cluster clusterv1.ManagedCluster
		want    Report
		gone    bool
	}{
		"available":         {cluster: clusterv1.ManagedCluster{Status: clusterv1.ManagedClusterStatus{Conditions: condition(metav1.ConditionTrue)}}, want: Report{Available: true, Since: noon}},
		"its lease is late": {cluster: clusterv1.ManagedCluster{Status: clusterv1.ManagedClusterStatus{Conditions: condition(metav1.ConditionUnknown)}}, want: Report{Since: noon}},
		"not healthy":       {cluster: clusterv1.ManagedCluster{Status: clusterv1.ManagedClusterStatus{Conditions: condition(metav1.ConditionFalse)}}, want: Report{Since: noon}},
		"never joined":      {},
		"tainted, and the condition is not yet": {
			cluster: clusterv1.ManagedCluster{
				Spec:   clusterv1.ManagedClusterSpec{Taints: []clusterv1.Taint{{Key: clusterv1.ManagedClusterTaintUnreachable, TimeAdded: later}}},
				Status: clusterv1.ManagedClusterStatus{Conditions: condition(metav1.ConditionTrue)},
			},
			want: Report{Since: later.Time},
		},
		"both": {
			cluster: clusterv1.ManagedCluster{
				Spec:   clusterv1.ManagedClusterSpec{Taints: []clusterv1.Taint{{Key: clusterv1.ManagedClusterTaintUnavailable, TimeAdded: later}}},
				Status: clusterv1.ManagedClusterStatus{Conditions: condition(metav1.ConditionFalse)},
			},
			want: Report{Since: noon},
		},
		"a taint of somebody else": {
			cluster: clusterv1.ManagedCluster{
				Spec:   clusterv1.ManagedClusterSpec{Taints: []clusterv1.Taint{{Key: "gpu", TimeAdded: later}}},
				Status: clusterv1.ManagedClusterStatus{Conditions: condition(metav1.ConditionTrue)},
			},
			want: Report{Available: true, Since: noon},
		},
		"a user detaches it": {cluster: clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &later}}, gone: true},
	} {
		t.Run(name, func(t *testing.T) {
			for _, form := range []string{"whole", "trimmed"} {
				cluster := &tc.cluster
				if form == "trimmed" {
					trimmed, err := Trim(cluster)
					if err != nil {
						t.Fatal(err)
					}
					cluster = trimmed.(*clusterv1.ManagedCluster)
				}
				report, exists := ReportOf(cluster)
				require.Equal(t, tc.gone, !exists, form)
				require.Equal(t, tc.want, report, form)
			}
		})
	}
}

func TestTrim(t *testing.T) {
	whole := &clusterv1.ManagedCluster{
		ObjectMeta: metav1.ObjectMeta{
			Name: "c1", UID: "u", ResourceVersion: "7", Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"a": "b"},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}},
		},
		Status: clusterv1.ManagedClusterStatus{ClusterClaims: []clusterv1.ManagedClusterClaim{{Name: "id", Value: "1"}}},
	}
	trimmed, err := Trim(whole)
	want := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: "c1", UID: "u", ResourceVersion: "7"}}
	require.NoError(t, err)
	require.Equal(t, want, trimmed)
}
