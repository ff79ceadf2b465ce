package simulation

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/intstr"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"

	"github.com/open-cluster-management-io/work-rollback/internal/goldentest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

func progressive(placement string, concurrency int32, deadline string, maxFailures int32, abort bool) workv1alpha1.LocalPlacementReference {
	ref := workv1alpha1.LocalPlacementReference{Name: placement}
	ref.RolloutStrategy.Type = clusterv1alpha1.Progressive
	ref.RolloutStrategy.Progressive = &clusterv1alpha1.RolloutProgressive{
		RolloutConfig:  clusterv1alpha1.RolloutConfig{ProgressDeadline: deadline, MaxFailures: intstr.FromInt32(maxFailures)},
		MaxConcurrency: intstr.FromInt32(concurrency),
	}
	return aborting(ref, abort)
}

func perGroup(placement, deadline string, maxFailures int32, abort bool) workv1alpha1.LocalPlacementReference {
	ref := workv1alpha1.LocalPlacementReference{Name: placement}
	ref.RolloutStrategy.Type = clusterv1alpha1.ProgressivePerGroup
	ref.RolloutStrategy.ProgressivePerGroup = &clusterv1alpha1.RolloutProgressivePerGroup{
		RolloutConfig: clusterv1alpha1.RolloutConfig{ProgressDeadline: deadline, MaxFailures: intstr.FromInt32(maxFailures)},
	}
	return aborting(ref, abort)
}

func all(placement, deadline string, abort bool) workv1alpha1.LocalPlacementReference {
	ref := workv1alpha1.LocalPlacementReference{Name: placement}
	ref.RolloutStrategy.Type = clusterv1alpha1.All
	ref.RolloutStrategy.All = &clusterv1alpha1.RolloutAll{RolloutConfig: clusterv1alpha1.RolloutConfig{ProgressDeadline: deadline}}
	return aborting(ref, abort)
}

func aborting(ref workv1alpha1.LocalPlacementReference, abort bool) workv1alpha1.LocalPlacementReference {
	if abort {
		ref.RolloutStrategy.FailureStrategy = workv1alpha1.AbortAll
	}
	return ref
}

// playStories plays named stories, and compares the steps, one per line, with the golden files in testdata. -update writes these files.
// begin runs before each story.
func playStories(t *testing.T, stories map[string]func(*teller), begin ...func(*teller)) {
	for name, play := range stories {
		t.Run(name, func(t *testing.T) {
			s := &teller{World: NewWorld(), t: t}
			for _, do := range append(begin, play) {
				do(s)
			}
			goldentest.Equal(t, fileOf(name), s.story()+"\n")
			setBackEverywhere(s, name, append(begin, play))
		})
	}
}

// teller plays a story.
type teller struct {
	*World
	t *testing.T
}

// checkedStory begins a story in which each write is checked against the rules.
func checkedStory(t *testing.T) *teller {
	s := &teller{World: NewWorld(), t: t}
	s.Check = func(write string) { s.must(s.CheckWrite(write)) }
	return s
}

// story returns the steps, one per line.
func (s *teller) story() string { return strings.Join(s.Story, "\n") }

func (s *teller) settle(during time.Duration) {
	s.t.Helper()
	require.NoError(s.t, s.Settle(during), s.story())
}

// held returns the version in the work of a cluster; empty if there is no work.
func (s *teller) held(cluster string) string {
	for _, work := range s.Works() {
		if work.Namespace == cluster {
			return Version(work)
		}
	}
	return ""
}

// placementOf returns the Placement in the label of the work of a cluster.
func (s *teller) placementOf(cluster string) string {
	for _, work := range s.Works() {
		if work.Namespace == cluster {
			return work.Labels[workv1alpha1.LabelPlacement]
		}
	}
	return ""
}

func (s *teller) must(err error) {
	s.t.Helper()
	require.NoError(s.t, err, s.story())
}

// soaking sets minSuccessTime.
func soaking(ref workv1alpha1.LocalPlacementReference, during time.Duration) workv1alpha1.LocalPlacementReference {
	switch strategy := &ref.RolloutStrategy; {
	case strategy.Progressive != nil:
		strategy.Progressive.MinSuccessTime.Duration = during
	case strategy.ProgressivePerGroup != nil:
		strategy.ProgressivePerGroup.MinSuccessTime.Duration = during
	}
	return ref
}

// restarts restarts the hub, and records this in the story.
func (s *teller) restarts() {
	s.Tell("the hub restarts")
	s.Restart()
}

// stable rolls v1 out to some clusters.
func (s *teller) stable(ref workv1alpha1.LocalPlacementReference, clusters ...string) {
	s.t.Helper()
	s.Place(ref.Name, clusters)
	s.Create("v1", ref)
	s.quiet()
}

// hangs begins the rollout of a version that hangs on the named clusters; an empty name means all clusters.
func (s *teller) hangs(version string, clusters ...string) {
	for _, cluster := range clusters {
		s.Report(cluster, version, Hangs)
	}
	s.Update(version)
}

// aborts plays an abort on two clusters: v1 is stable, and v2 hangs on the first cluster.
func (s *teller) aborts() {
	s.t.Helper()
	s.stable(progressive("p1", 1, "30s", 0, true), "c1", "c2")
	s.hangs("v2", "c1")
	s.quiet()
}

// quiet waits until nothing more happens, checks the properties, and describes the result.
func (s *teller) quiet() {
	s.t.Helper()
	s.settle(Forever)
	story := s.Story
	require.NoError(s.t, s.CheckQuiet(), strings.Join(story, "\n"))
	s.conditions()
	object := s.Object()
	s.Tell("quiet: current %s, update %s", object.Status.CurrentRevision, object.Status.UpdateRevision)
}

// conditions adds the conditions to the story. The conditions for kstatus repeat Progressing in most stages, and are then added without a
// message.
func (s *teller) conditions() {
	all := s.Object().Status.Conditions
	for _, c := range all {
		if progressing := meta.FindStatusCondition(all, workv1alpha1.ConditionProgressing); progressing != nil && progressing.Type != c.Type &&
			progressing.Message == c.Message && progressing.Reason == c.Reason {
			s.Tell("  %s %s", c.Type, c.Status)
			continue
		}
		s.Tell("  %s %s %s: %s", c.Type, c.Status, c.Reason, c.Message)
	}
}

// Wrote calls a function once, after a write by the hub.
func (s *teller) Wrote(write string, do func()) {
	s.Check = func(what string) {
		if s.describe(what) == write {
			s.Check = nil
			do()
		}
	}
}

// failing makes the first write with a prefix fail during an abort.
func failing(w *World, write string, fault Fault) func(string) Fault {
	done := false
	return func(what string) Fault {
		if done || what != write || w.Object().Status.AbortedTime == nil {
			return NoFault
		}
		done = true
		return fault
	}
}

// fileOf returns the name of the golden file of a story.
func fileOf(name string) string {
	return strings.NewReplacer(" ", "-", ",", "", "'", "").Replace(name) + ".txt"
}
