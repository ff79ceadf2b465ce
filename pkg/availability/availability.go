package availability

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
	clusterclientset "open-cluster-management.io/api/client/cluster/clientset/versioned"
	clusterinformers "open-cluster-management.io/api/client/cluster/informers/externalversions"
	clusterv1 "open-cluster-management.io/api/cluster/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/replicaset"
)

// Resource is the resource of ManagedClusters.
var Resource = schema.GroupVersionResource{Group: clusterv1.GroupName, Version: "v1", Resource: "managedclusters"}

// Report is the availability of a ManagedCluster. Two reports of an uninterrupted state are equal: heartbeats change nothing.
type Report struct {
	// Available is true if the condition ManagedClusterConditionAvailable is true, and the cluster does not have the taint unreachable or
	// unavailable.
	Available bool
	// Since is the last transition of the condition or, without one, when the taint was added; zero if that is unknown.
	Since time.Time
	// Rule determines when rollouts may start on the cluster.
	Rule Rule
}

// ReportOf returns the availability of a ManagedCluster. exists is false if the ManagedCluster is nil, or is being deleted because a user
// detached the cluster.
func ReportOf(cluster *clusterv1.ManagedCluster) (report Report, exists bool) {
	if cluster == nil || !cluster.DeletionTimestamp.IsZero() {
		return Report{}, false
	}
	report.Rule = ruleOf(cluster)
	if condition := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1.ManagedClusterConditionAvailable); condition != nil {
		report.Available, report.Since = condition.Status == metav1.ConditionTrue, condition.LastTransitionTime.Time
	}
	for i := range cluster.Spec.Taints {
		if taint := &cluster.Spec.Taints[i]; isAbsence(taint) {
			if report.Available || report.Since.IsZero() {
				report.Since = taint.TimeAdded.Time
			}
			report.Available = false
		}
	}
	return report, true
}

// isAbsence reports whether OCM adds a taint because a cluster is not available.
func isAbsence(taint *clusterv1.Taint) bool {
	return taint.Key == clusterv1.ManagedClusterTaintUnreachable || taint.Key == clusterv1.ManagedClusterTaintUnavailable
}

// Trim is the transform of an informer of ManagedClusters. It keeps only the fields that ReportOf reads.
func Trim(obj any) (any, error) {
	cluster, ok := obj.(*clusterv1.ManagedCluster)
	if !ok {
		return obj, nil
	}
	trimmed := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{
		Name: cluster.Name, UID: cluster.UID, ResourceVersion: cluster.ResourceVersion, DeletionTimestamp: cluster.DeletionTimestamp,
	}}
	trimRule(trimmed, cluster)
	for i := range cluster.Spec.Taints {
		if taint := &cluster.Spec.Taints[i]; isAbsence(taint) {
			trimmed.Spec.Taints = append(trimmed.Spec.Taints, clusterv1.Taint{Key: taint.Key, TimeAdded: taint.TimeAdded})
		}
	}
	if condition := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1.ManagedClusterConditionAvailable); condition != nil {
		trimmed.Status.Conditions = []metav1.Condition{
			{Type: condition.Type, Status: condition.Status, LastTransitionTime: condition.LastTransitionTime},
		}
	}
	return trimmed, nil
}

// NewInformer returns an informer of ManagedClusters that keeps only the fields that ReportOf reads.
func NewInformer(client clusterclientset.Interface) cache.SharedIndexInformer {
	return clusterinformers.NewSharedInformerFactoryWithOptions(client, replicaset.ResyncPeriod,
		clusterinformers.WithTweakListOptions(replicaset.FreshList), clusterinformers.WithTransform(Trim),
	).Cluster().V1().ManagedClusters().Informer()
}
