package forecast

import (
	"fmt"
	"math/rand/v2"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// The simulated fleet: the ManifestWorks as the API server would hold them, and what really happens on each cluster.

// The revisions of a run.
const (
	older = "older"
	newer = "newer"
)

// epoch is when each simulated rollout begins.
var epoch = time.Date(2030, time.January, 1, 0, 0, 0, 0, time.UTC)

// cluster is one cluster: its fate, and what really runs there.
type cluster struct {
	name string
	draw
	// ref is the index of its placementRef.
	ref int
	// work is its ManifestWork; nil if it has none.
	work *work.Work
	// runs is the revision that its agent applied; empty for none. wasReached is true if that was ever the newer one. An offline agent
	// applies nothing.
	runs       string
	wasReached bool
	// written is true if the newer revision was ever written for it.
	written bool
	// says is what the agent reports next, at reportAt. The hub has a reason to look at wakeAt. All are empty if nothing is coming.
	says             report
	reportAt, wakeAt time.Time
	// backAt is when it succeeded with the older revision after an abort.
	backAt time.Time
}

type fleet struct {
	clusters []cluster
	byName   map[string]*cluster
}

// newFleet returns the fleet of a run. Its clusters are in the order of the placementRefs and groups.
func newFleet(in *Input, index int) *fleet {
	random := rand.New(rand.NewPCG(in.Seed, uint64(index))) //nolint:gosec // a simulation needs numbers that can be repeated
	f := &fleet{}
	for i := range in.ReplicaSet.Spec.PlacementRefs {
		placement := in.Placements[in.ReplicaSet.Spec.PlacementRefs[i].Name]
		for g := range placement.Groups {
			for _, name := range placement.Groups[g].Clusters {
				f.clusters = append(f.clusters, cluster{name: name, draw: in.Agents.draw(random, name), ref: i})
			}
		}
	}
	f.byName = make(map[string]*cluster, len(f.clusters))
	for i := range f.clusters {
		f.byName[f.clusters[i].name] = &f.clusters[i]
	}
	return f
}

// revisionsOf returns the newer and the older revision. The older one has the same rules, and works everywhere.
func revisionsOf(in *Input) (update, current *work.Revision) {
	template := in.ReplicaSet.Spec.ManifestWorkTemplate.DeepCopy()
	template.ManifestConfigs = nil
	if in.Rules.Progressing {
		rules := []workv1.ConditionRule{{Condition: workv1.ManifestProgressing}}
		template.ManifestConfigs = []workv1.ManifestConfigOption{{ConditionRules: rules}}
	}
	make := func(hash string, generation int64) *work.Revision {
		return &work.Revision{
			Name: revision.Name(in.ReplicaSet.Name, hash), Hash: hash, Digest: revision.Digest(hash), Template: template,
			ReportsDegraded: in.Rules.Degraded, Age: revision.Age{Created: epoch.Add(-time.Hour), Generation: generation},
		}
	}
	update = make(newer, 2)
	if in.First {
		return update, nil
	}
	current = make(older, 1)
	current.WasCurrent, current.CurrentSince = true, epoch.Add(-time.Hour)
	return update, current
}

// newWork returns an empty work of a cluster.
func newWork(c *cluster, now time.Time) work.Work {
	return work.Work{DeletionCounts: true, Object: &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{
		Name: "simulated", Namespace: c.name, UID: types.UID(c.name), Generation: 0, CreationTimestamp: metav1.NewTime(now),
		Labels: map[string]string{}, Annotations: map[string]string{},
	}}}
}

// apply carries a write out, as the API server and the hub's memory would.
func (c *cluster) apply(w *rollout.Write, now time.Time) {
	object, metadata := c.work.Object, w.Metadata()
	for key, value := range metadata.Labels {
		object.Labels[key] = value
	}
	for key, value := range metadata.Annotations {
		object.Annotations[key] = value
	}
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

// conditions are what an agent reports about the generation that a work has.
func conditions(generation int64, says report, rules Rules, at time.Time) []metav1.Condition {
	of := func(conditionType string, is bool) metav1.Condition {
		status := metav1.ConditionFalse
		if is {
			status = metav1.ConditionTrue
		}
		return metav1.Condition{Type: conditionType, Status: status, Reason: "Simulated", ObservedGeneration: generation,
			LastTransitionTime: metav1.NewTime(at)}
	}
	all := append(make([]metav1.Condition, 0, 4), of(workv1.WorkApplied, true), of(workv1.WorkAvailable, true))
	if rules.Progressing {
		all = append(all, of(workv1.WorkProgressing, says != success))
	}
	if rules.Degraded {
		all = append(all, of(workv1.WorkDegraded, says == degraded))
	}
	return all
}

// deliver lets the agent's report reach the hub.
func (c *cluster) deliver(rules Rules) {
	c.work.Object.Status.Conditions = conditions(c.work.Object.Generation, c.says, rules, c.reportAt)
	if c.says == success {
		c.work.SucceededSince = c.reportAt
		if c.runs == older {
			c.backAt = c.reportAt
		}
	}
	c.says, c.reportAt = nothing, time.Time{}
}

// names returns the names of n clusters of a Placement.
func names(placement string, from, n int) []string {
	clusters := make([]string, 0, n)
	for i := range n {
		clusters = append(clusters, fmt.Sprintf("%s-%05d", placement, from+i+1))
	}
	return clusters
}

// Group is a decision group of a fleet that Clusters makes.
type Group struct {
	Name string
	Size int
}

// Clusters returns a Placement that selects generated clusters in these groups.
func Clusters(name string, groups ...Group) *placement.Placement {
	pl := &placement.Placement{Decisions: len(groups)}
	for i, g := range groups {
		pl.Groups = append(pl.Groups, placement.Group{
			Name: g.Name, Index: int32(i), Clusters: names(name, pl.Selected, g.Size), //nolint:gosec // a few groups
		})
		pl.Selected += g.Size
	}
	return pl
}
