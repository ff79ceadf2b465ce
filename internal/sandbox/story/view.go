package story

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/screen"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// conditionTypes are shown in this order.
var conditionTypes = []string{
	workv1alpha1.ConditionPlacementVerified, workv1alpha1.ConditionManifestworkApplied,
	workv1alpha1.ConditionProgressing, workv1alpha1.ConditionPlacementRolledOut,
}

// show fills a view with what the facts say.
func show(view *screen.View, f *facts) {
	for i := range f.clusters {
		cluster := &f.clusters[i]
		view.Clusters = append(view.Clusters, screen.Cluster{
			Name: cluster.name, Revision: f.show(cluster.hash()), State: state(cluster, f.version(cluster.hash())),
		})
	}
	view.Current, view.Update = f.show(f.mwrs.Status.CurrentRevision), f.show(f.mwrs.Status.UpdateRevision)
	for _, kind := range conditionTypes {
		view.Conditions = append(view.Conditions, showCondition(kind, meta.FindStatusCondition(f.mwrs.Status.Conditions, kind)))
	}
	if progressing := meta.FindStatusCondition(f.mwrs.Status.Conditions, workv1alpha1.ConditionProgressing); progressing != nil {
		view.Message = progressing.Message
	}
}

func (f *facts) show(hash string) screen.Revision {
	shown := screen.Revision{Hash: hash, Version: f.version(hash)}
	if revision := f.revision(hash); revision != nil {
		shown.Number = revision.Revision
	}
	return shown
}

func showCondition(kind string, condition *metav1.Condition) screen.Condition {
	if condition == nil {
		return screen.Condition{Type: kind, Status: "-", Reason: "-"}
	}
	return screen.Condition{Type: kind, Status: string(condition.Status), Reason: condition.Reason}
}

// state says what a cluster does with the version that the hub gave it.
func state(cluster *clusterFacts, version string) string {
	if cluster.work == nil {
		return "not reached yet"
	}
	if cluster.deployment == nil || cluster.version() != version {
		return "its agent is about to apply it"
	}
	if !cluster.observed() {
		// What its status counts are Pods of the version before.
		return "rolling out: its Deployment was just changed"
	}
	status, wanted := cluster.deployment.Status, *cluster.deployment.Spec.Replicas
	switch {
	case cluster.healthy():
		return fmt.Sprintf("healthy: %d of %d Pods are ready", status.ReadyReplicas, wanted)
	case cluster.stuck():
		return fmt.Sprintf("broken: %s can't start, %d older Pods still serve", version, status.ReadyReplicas)
	default:
		return fmt.Sprintf("rolling out: %d of %d Pods are new, %d are ready", status.UpdatedReplicas, wanted, status.ReadyReplicas)
	}
}
