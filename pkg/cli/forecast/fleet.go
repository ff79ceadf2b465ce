package forecast

import (
	"fmt"
	"maps"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// The simulated fleet: the ManifestWorks as the API server would hold them, and the real state of each cluster.

// The revisions of a run.
const (
	older = "older"
	newer = "newer"
)

// epoch is the time at which each simulated rollout begins.
var epoch = time.Date(2030, time.January, 1, 0, 0, 0, 0, time.UTC)

// cluster is one cluster: its fate, and its real state.
type cluster struct {
	site
	draw
	// work is its ManifestWork; nil if it has none. object is the memory of the ManifestWork.
	work   *work.Work
	object workv1.ManifestWork
	// runs is the revision that its agent applied; empty for none. wasReached is true if runs was ever the newer revision. An offline agent
	// applies nothing.
	runs       string
	wasReached bool
	// written is true if the newer revision was ever written to its ManifestWork.
	written bool
	// says is the agent's next report, and reportAt is its time. wakeAt is the time at which the hub has a reason to look. All three are empty
	// if no report is pending.
	says             report
	reportAt, wakeAt time.Time
	// backAt is the time at which the cluster succeeded with the older revision after an abort.
	backAt time.Time
}

// empty resets the object of a cluster to an empty work.
func (c *cluster) empty(now time.Time) {
	labels, annotations, conditions := c.object.Labels, c.object.Annotations, c.object.Status.Conditions
	if labels == nil {
		labels, annotations = map[string]string{}, map[string]string{}
	}
	clear(labels)
	clear(annotations)
	c.object = workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{
		Name: "simulated", Namespace: c.name, UID: types.UID(c.name), Generation: 0, CreationTimestamp: metav1.NewTime(now),
		Labels: labels, Annotations: annotations,
	}}
	c.object.Status.Conditions = conditions[:0]
}

// apply performs a write, as the API server and the hub's memory would.
func (c *cluster) apply(w *rollout.Write, now time.Time) {
	object, metadata := c.work.Object, w.Metadata()
	maps.Copy(object.Labels, metadata.Labels)
	maps.Copy(object.Annotations, metadata.Annotations)
	for _, key := range metadata.DroppedLabels {
		delete(object.Labels, key)
	}
	for _, key := range metadata.DroppedAnnotations {
		delete(object.Annotations, key)
	}
	if w.Revision == nil {
		return
	}
	if w.Group != "" {
		object.Annotations[workv1alpha1.AnnotationDecisionGroup] = w.Group
	}
	object.Annotations[workv1alpha1.AnnotationAppliedAt] = now.Format(time.RFC3339Nano)
	if c.work.Digest != w.Revision.Digest {
		c.work.Digest = w.Revision.Digest
		object.Generation++
	}
	c.work.WatchedSince, c.work.SucceededSince, c.work.SettledAt = now, time.Time{}, time.Time{}
}

// conditions returns the conditions that an agent reports about the current generation of a work. They overwrite the given memory.
func conditions(memory []metav1.Condition, generation int64, says report, rules Rules, at time.Time) []metav1.Condition {
	of := func(conditionType string, is bool) metav1.Condition {
		status := metav1.ConditionFalse
		if is {
			status = metav1.ConditionTrue
		}
		return metav1.Condition{Type: conditionType, Status: status, Reason: "Simulated", ObservedGeneration: generation,
			LastTransitionTime: metav1.NewTime(at)}
	}
	all := append(memory[:0], of(workv1.WorkApplied, true), of(workv1.WorkAvailable, true))
	if rules.Progressing {
		all = append(all, of(workv1.WorkProgressing, says != success))
	}
	if rules.Degraded {
		all = append(all, of(workv1.WorkDegraded, says == degraded))
	}
	return all
}

// deliver delivers the agent's report to the hub.
func (c *cluster) deliver(rules Rules) {
	reported := &c.work.Object.Status.Conditions
	*reported = conditions(*reported, c.work.Object.Generation, c.says, rules, c.reportAt)
	if c.says == success {
		c.work.SucceededSince = c.reportAt
		if c.runs == older {
			c.backAt = c.reportAt
		}
	}
	c.says, c.reportAt = nothing, time.Time{}
}

// Group is a decision group of a fleet that Clusters generates.
type Group struct {
	Name string
	Size int
}

// Clusters returns a Placement that selects generated clusters in these groups.
func Clusters(name string, groups ...Group) *placement.Placement {
	pl := &placement.Placement{Decisions: len(groups)}
	for i, g := range groups {
		group := placement.Group{Name: g.Name, Index: int32(i)} //nolint:gosec // a few groups
		for range g.Size {
			pl.Selected++
			group.Clusters = append(group.Clusters, fmt.Sprintf("%s-%05d", name, pl.Selected))
		}
		pl.Groups = append(pl.Groups, group)
	}
	return pl
}
