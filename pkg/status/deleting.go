package status

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// Releasing is the progress of a deletion that leaves the workloads on the clusters.
type Releasing struct {
	// Clusters is the number of clusters that had a ManifestWork when the deletion began.
	Clusters int
	// Waiting are the clusters whose agents have not released the workloads.
	Waiting []string
	// Leaving are the clusters whose agents have released the workloads, but have not removed their finalizer from a terminating
	// ManifestWork.
	Leaving []string
	// TooLate are the clusters whose ManifestWork was already being deleted before the release.
	TooLate []string
	// Unreleased names the objects that agents could not release. Problems names the ManifestWorks that can't be written.
	Unreleased, Problems []string
}

// maxHeld is the maximum number of bytes about a manifest in a message: a long message from an agent must not push out the remedy.
const maxHeld = 512

// ReleasingWorkloads returns the condition Deleting for an object whose deletion waits for agents.
func ReleasingWorkloads(r *Releasing) metav1.Condition {
	parts := []string{fmt.Sprintf("keeping the workloads: %d of %s done", max(0, r.Clusters-len(r.Waiting)-len(r.TooLate)), areClusters(r.Clusters))}
	if len(r.Waiting) > 0 {
		parts = append(parts, "waiting for the agents of "+rollout.Names(r.Waiting)+" to release the applied resources")
	}
	held := make([]string, 0, len(r.Unreleased))
	for _, text := range r.Unreleased {
		held = append(held, revision.Shortened(text, maxHeld))
	}
	parts = append(parts, FirstOf(held))
	parts = append(parts, r.Problems...)
	if len(r.TooLate) > 0 {
		parts = append(parts, lost(r.TooLate))
	}
	switch {
	case len(r.Waiting) > 0:
		parts = append(parts, "to delete without waiting, set spec.preserveResourcesOnDeletion to false: the clusters that have not released "+
			"their workloads lose them")
	case len(r.Leaving)+len(r.TooLate) > 0:
		parts = append(parts, "waiting for the agents of "+rollout.Names(append(r.Leaving, r.TooLate...))+" to finish deleting their ManifestWorks")
	}
	return deleting(workv1alpha1.ReasonReleasingWorkloads, join(parts...))
}

func lost(clusters []string) string {
	return "not kept on " + rollout.Names(clusters) + ": the ManifestWork was being deleted before the agent released the workloads"
}

// Lost returns the message about clusters that lose their workloads.
func Lost(clusters []string) string { return "the workloads are " + lost(clusters) }

func areClusters(n int) string {
	if n == 1 {
		return "1 cluster is"
	}
	return fmt.Sprintf("%d clusters are", n)
}

// PreservingNotSupported returns the condition Deleting for an object whose ManifestWorks travel over a broker.
func PreservingNotSupported() metav1.Condition {
	return deleting(workv1alpha1.ReasonPreservingNotSupported, "nothing is deleted: spec.preserveResourcesOnDeletion is not supported while "+
		"ManifestWorks travel over a broker, because a restarted hub does not know which agents have yet to release their workloads; to keep the "+
		"workloads, set deleteOption.propagationPolicy of the template to Orphan, wait until every cluster has that revision, and then set "+
		"spec.preserveResourcesOnDeletion to false; to delete the workloads, set it to false now")
}

func deleting(reason, message string) metav1.Condition {
	return condition(workv1alpha1.ConditionDeleting, reason, message, metav1.ConditionTrue)
}

// SetDeleting sets the condition Deleting in a status; nil removes it.
func SetDeleting(status *workv1alpha1.ManifestWorkReplicaSetStatus, told *metav1.Condition, generation int64, now metav1.Time) {
	setOrRemove(&status.Conditions, workv1alpha1.ConditionDeleting, told, generation, now)
}
