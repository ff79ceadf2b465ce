package view

import (
	"math"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// Estimate is the expected end of a rollout, if the next clusters take as long as those that have succeeded.
type Estimate struct {
	// Wave is the expected end of the clusters that are in progress, and Rollout is the expected end of all clusters.
	Wave    time.Time `json:"wave"`
	Rollout time.Time `json:"rollout"`
	// Each is the median time that a cluster took, and Clusters is the number of clusters that were measured.
	Each     metav1.Duration `json:"each"`
	Clusters int             `json:"clusters"`
}

// resolution is the resolution of the times that agents report. It is the minimum time of a cluster.
const resolution = time.Second

// estimate returns the expected end of a rollout. It is nil if nothing is in progress, if no cluster has succeeded with the revision, or if
// a cluster may not succeed. It is also nil if clusters are on hold or outside their windows, or if listed groups bake or wait for
// approvals.
func (o *Objects) estimate() *Estimate {
	clusters, known := o.clusters()
	waits := func(c Cluster) bool {
		return c.troubled() || c.State == rollout.PhaseHeld || c.State == rollout.PhaseClosed
	}
	if !known || StateOf(o.ReplicaSet) != workv1alpha1.StateRollingOut ||
		slices.ContainsFunc(clusters, waits) || o.ReplicaSet.Spec.ListsGroups() {
		return nil
	}
	wrote := o.wrote()
	took := o.took(clusters, wrote)
	if len(took) == 0 {
		return nil
	}
	slices.Sort(took)
	each := max(took[len(took)/2], resolution)
	found := &Estimate{Each: metav1.Duration{Duration: each}, Clusters: len(took)}
	for i := range o.ReplicaSet.Spec.PlacementRefs {
		wave, end := o.ends(&o.ReplicaSet.Spec.PlacementRefs[i], clusters, wrote, each)
		found.Wave, found.Rollout = work.Later(found.Wave, wave), work.Later(found.Rollout, end)
	}
	if found.Wave.IsZero() || o.Now.Sub(found.Wave) > each { // It takes much longer than the others: the end is unknown.
		return nil
	}
	found.Wave, found.Rollout = work.Later(found.Wave, o.Now), work.Later(found.Rollout, o.Now)
	return found
}

// troubled reports whether a cluster may not succeed without help.
func (c *Cluster) troubled() bool {
	switch c.State {
	case rollout.PhaseSucceeded, rollout.PhaseSoaking, rollout.PhaseHandingOver, rollout.PhaseInFlight, rollout.PhaseValidating,
		rollout.PhaseTerminating, rollout.PhaseHeld, rollout.PhaseClosed:
		return false
	case rollout.PhaseWaiting:
		return c.WaitsFor == rollout.WaitHalt || c.WaitsFor == rollout.WaitRollback || c.WaitsFor == rollout.WaitStrategy
	}
	return true
}

// wrote returns the time at which the hub wrote the update revision to each cluster.
func (o *Objects) wrote() map[string]time.Time {
	wrote := map[string]time.Time{}
	for i := range o.Works {
		if at, ok := o.Works[i].AppliedAt(); ok && o.Works[i].Hash() == o.ReplicaSet.Status.UpdateRevision {
			wrote[o.Works[i].Cluster()] = at
		}
	}
	return wrote
}

// took returns how long each cluster that has succeeded held its slot. It skips clusters that had the revision before the rollout began, as
// in an undo, and clusters whose works were not read.
func (o *Objects) took(clusters []Cluster, wrote map[string]time.Time) []time.Duration {
	soaks := map[string]time.Duration{} // A cluster holds its slot for minSuccessTime after its success.
	for i := range o.ReplicaSet.Spec.PlacementRefs {
		ref := &o.ReplicaSet.Spec.PlacementRefs[i]
		soaks[ref.Name] = placement.StrategyOf(&ref.RolloutStrategy).MinSuccessTime
	}
	var took []time.Duration
	began := o.revisionAt(o.ReplicaSet.Status.UpdateRevision).Started
	for i := range clusters {
		c := &clusters[i]
		at, ok := wrote[c.Name]
		if ok && !at.Before(began) && !o.Presumed.Has(c.Name) && c.done() && !c.Since.Before(at.Truncate(time.Second)) { // Agents report seconds.
			took = append(took, max(0, c.Since.Sub(at))+soaks[c.Placement])
		}
	}
	return took
}

// ends returns the expected end of the wave, and of all clusters, of a placementRef; zero if none of its clusters is in progress.
func (o *Objects) ends(
	ref *workv1alpha1.LocalPlacementReference, clusters []Cluster, wrote map[string]time.Time, each time.Duration,
) (wave, end time.Time) {
	total, waiting, busy := 0, 0, 0
	for i := range clusters {
		c := &clusters[i]
		if c.Placement != ref.Name {
			continue
		}
		total++
		switch at, ok := wrote[c.Name]; {
		case c.State == rollout.PhaseWaiting || c.State == rollout.PhaseTerminating:
			waiting++
		case ok && !c.done() && c.State != rollout.PhaseFailed && c.State != rollout.PhaseCompleted:
			busy++
			wave = work.Later(wave, at.Add(each))
		}
	}
	if busy == 0 || waiting == 0 {
		return wave, wave
	}
	size, strategy := 0, placement.StrategyOf(&ref.RolloutStrategy)
	if strategy.Kind == clusterv1alpha1.Progressive {
		size = placement.Batch(&strategy.MaxConcurrency, total)
	}
	waves := math.Ceil(float64(waiting) / float64(max(busy, size)))
	return wave, work.Later(wave, o.Now).Add(time.Duration(waves) * each)
}
