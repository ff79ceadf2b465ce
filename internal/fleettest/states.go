package fleettest

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/internal/revisiontest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// scene builds the objects of a state.
type scene struct {
	*view.Objects
	state   string
	n       int
	hashes  []string
	digests []revision.Digest
}

// deadline is the progressDeadline of the rollouts.
const deadline = 10 * time.Minute

// InState returns a fleet of at least 20 clusters in three decision groups, in the given state of a rollout: rolling, failing, returning,
// aborted or paused. Some clusters are in flight, and some fail if the state requires it. It panics on an error.
func InState(state string, n int, now time.Time) *view.Objects {
	set := &workv1alpha1.ManifestWorkReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "checkout", UID: "1", Generation: 7}}
	set.Spec.PlacementRefs = []workv1alpha1.LocalPlacementReference{{Name: "production"}}
	strategy := &set.Spec.PlacementRefs[0].RolloutStrategy
	strategy.FailureStrategy = workv1alpha1.AbortAll
	strategy.Type = clusterv1alpha1.Progressive
	strategy.Progressive = &clusterv1alpha1.RolloutProgressive{
		RolloutConfig:  clusterv1alpha1.RolloutConfig{MaxFailures: intstr.FromInt(max(2, n/100)), ProgressDeadline: deadline.String()},
		MaxConcurrency: intstr.FromInt(n / 4),
	}
	s := &scene{Objects: &view.Objects{ReplicaSet: set, Now: now}, state: state, n: n}
	s.history()
	s.clusters()
	s.status()
	return s.Objects
}

func (s *scene) ago(d time.Duration) metav1.Time {
	return metav1.NewTime(s.Now.Add(-d).Truncate(time.Second))
}

// history creates the revisions: 5 was aborted, 6 is the current one, and 7 is being rolled out.
func (s *scene) history() {
	for i, change := range []string{"checkout 4.1.2", "checkout 4.1.3", "checkout 4.2: new cache"} {
		number := int64(5 + i)
		template := workv1.ManifestWorkSpec{Workload: workv1.ManifestsTemplate{Manifests: []workv1.Manifest{{}}}}
		template.Workload.Manifests[0].Raw = fmt.Appendf(nil,
			`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"checkout"},"data":{"v":"%d"}}`, number)
		hash := revision.ComputeHash(&template, nil)
		object, err := revision.New(s.ReplicaSet, &template, hash, number)
		if err != nil {
			panic(err)
		}
		began := s.ago(time.Duration(2-i)*26*time.Hour + 14*time.Minute)
		object.CreationTimestamp = began
		object.Annotations[workv1alpha1.AnnotationChangeCause] = change
		revisiontest.Amend(object, func(r *revision.Record) {
			r.CreatedBy = "flux"
			if i == 1 || i == 2 && s.state == "complete" {
				r.Ended = began.Add(11 * time.Minute)
			}
		})
		s.ReplicaSet.Spec.ManifestWorkTemplate = template
		s.hashes, s.digests = append(s.hashes, hash), append(s.digests, revision.Decode(object).Digest)
		s.Revisions = append(s.Revisions, object)
		status := workv1alpha1.RevisionStatus{
			Name: object.Name, Hash: hash, Revision: number, LastRolledOutTime: &began, ChangeCause: change, CreatedBy: "flux",
			State: []workv1alpha1.RevisionState{workv1alpha1.RevisionAborted, workv1alpha1.RevisionAvailable, workv1alpha1.RevisionProgressing}[i],
		}
		if i == 0 {
			at := metav1.NewTime(began.Add(14 * time.Minute))
			status.AbortedTime, status.ReachedClusters = &at, ptr.To(min(21, int32(s.n))) //nolint:gosec // The size of a test.
			status.AbortReason = "placement production: 3 clusters failed: probe fails on /healthz"
		}
		s.ReplicaSet.Status.Revisions = append(s.ReplicaSet.Status.Revisions, status)
	}
}

// clusters creates the decisions and the works, in groups of a tenth, a third and the rest.
func (s *scene) clusters() {
	groups := []struct {
		name, prefix string
		size         int
	}{{"canary", "canary", max(2, s.n/40)}, {"europe", "eu", s.n / 3}, {"rest", "us", s.n - max(2, s.n/40) - s.n/3}}
	s.Placements = map[string]*clusterv1beta1.Placement{"production": {}}
	s.Placements["production"].Status.NumberOfSelectedClusters = int32(s.n) //nolint:gosec // The size of a test.
	s.Decisions = map[string][]*clusterv1beta1.PlacementDecision{}
	width, at := len(fmt.Sprint(s.n)), 0
	for g := range groups {
		decision := &clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{Name: groups[g].name, Labels: map[string]string{
			clusterv1beta1.DecisionGroupIndexLabel: fmt.Sprint(g), clusterv1beta1.DecisionGroupNameLabel: groups[g].name,
		}}}
		for i := range groups[g].size {
			name := fmt.Sprintf("%s-%0*d", groups[g].prefix, width, i+1)
			decision.Status.Decisions = append(decision.Status.Decisions, clusterv1beta1.ClusterDecision{ClusterName: name})
			s.cluster(name, at)
			at++
		}
		s.Decisions["production"] = append(s.Decisions["production"], decision)
	}
}

// cluster creates the work of a cluster. The first third has the new revision.
func (s *scene) cluster(name string, i int) {
	const pull = "Deployment shop/checkout: 0 of 3 replicas are available: ImagePullBackOff: registry.example.com/checkout:4.2: not found"
	slow, begun := max(3, s.n/50+2), s.n/3
	sick := s.state != "rolling"
	bad := sick && i%s.step() == s.step()/2 && i < s.step()*slow && i < begun
	switch {
	case i >= begun:
		s.work(name, 1, 26*time.Hour, 25*time.Hour, "")
	case s.state == "aborted" || s.state == "returning" && i%4 != 3:
		s.work(name, 1, 50*time.Second, 30*time.Second, "")
	case s.state == "returning":
		s.work(name, 1, 50*time.Second, 0, "")
	case bad && s.fails(i):
		s.work(name, 2, 13*time.Minute, 0, pull)
	case bad:
		s.work(name, 2, deadline-25*time.Second, 0, pull)
	case i > begun*3/4:
		s.work(name, 2, 2*time.Minute, 0, "waiting for 2 of 3 replicas")
	default:
		s.work(name, 2, 6*time.Minute, 4*time.Minute, "")
	}
	if bad {
		s.recordFailure(name, i, pull)
	}
}

// recordFailure adds the failure of a sick cluster to the status, if it has failed.
func (s *scene) recordFailure(name string, i int, message string) {
	if s.fails(i) {
		s.ReplicaSet.Status.Failures = append(s.ReplicaSet.Status.Failures, workv1alpha1.ClusterFailure{
			Cluster: name, Placement: "production", Since: s.ago(3 * time.Minute), Reason: workv1alpha1.FailureDegraded, Message: message,
		})
	}
}

// fails reports whether a sick cluster has failed: every second one, or all of them when the rollout has ended.
func (s *scene) fails(i int) bool {
	return s.state == "returning" || s.state == "aborted" || i%(2*s.step()) == s.step()/2 && i < s.step()*max(2, s.n/100)
}

// step is the distance between sick clusters.
func (s *scene) step() int {
	if s.n < 100 {
		return 2
	}
	return 7
}

// work adds a work of a revision that was written some time ago. Its agent reported success some time ago. If done is 0, the agent instead
// reports a message, or nothing about that revision.
func (s *scene) work(name string, rev int, wrote, done time.Duration, message string) {
	set := s.ReplicaSet
	mw := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: set.Name, Generation: 2, CreationTimestamp: s.ago(wrote)}}
	mw.Labels = map[string]string{
		workv1alpha1.LabelReplicaSet:     workv1alpha1.OwnerLabelValue(set.Namespace, set.Name),
		workv1alpha1.LabelControllerHash: s.hashes[rev], workv1alpha1.LabelPlacement: "production",
	}
	mw.Annotations = map[string]string{workv1alpha1.AnnotationAppliedAt: s.Now.Add(-wrote).Format(time.RFC3339Nano)}
	report := func(kind string, is bool, text string) {
		status, at := metav1.ConditionFalse, s.ago(wrote)
		if is {
			status = metav1.ConditionTrue
		}
		if done > 0 {
			at = s.ago(done)
		}
		mw.Status.Conditions = append(mw.Status.Conditions,
			metav1.Condition{Type: kind, Status: status, ObservedGeneration: 2, LastTransitionTime: at, Message: text})
	}
	if done > 0 || message != "" {
		report(workv1.WorkApplied, true, "")
		report(workv1.WorkAvailable, true, "")
		report(workv1.WorkProgressing, done == 0, message)
		report(workv1.WorkDegraded, strings.Contains(message, "BackOff"), message)
	}
	s.Works = append(s.Works, work.Work{Object: mw, Digest: s.digests[rev]})
	s.ReplicaSet.Status.Revisions[rev].Clusters++
}

// status completes the status.
func (s *scene) status() {
	set, started := s.ReplicaSet, s.ago(14*time.Minute)
	status := &set.Status
	status.Ledger = "{}" // The API server keeps it; no test reads it.
	status.CurrentRevision, status.UpdateRevision, status.ObservedGeneration = s.hashes[1], s.hashes[2], set.Generation
	status.Summary.Total, status.Summary.DesiredTotal = s.n, s.n
	size := int32(s.n) //nolint:gosec // The size of a test.
	status.PlacementsSummary = []workv1alpha1.PlacementSummary{{Name: "production", Counted: size, Summary: status.Summary}}
	status.Revisions[2].ReachedClusters = ptr.To(size / 3)
	message := "the rollout of revision " + s.Revisions[2].Name + " is in progress"
	status.State = workv1alpha1.StateRollingOut
	switch aborted := s.ago(55 * time.Second); s.state {
	case "returning", "aborted":
		status.State, status.AbortedTime = workv1alpha1.StateAborted, &aborted
		revisiontest.Amend(s.Revisions[2], func(r *revision.Record) {
			r.Abort = &revision.Abort{At: aborted.Time}
			if s.state == "aborted" {
				r.Abort.Restored = s.Now.Add(-20 * time.Second)
			}
		})
		message = "placement production: too many clusters failed: not successful within progressDeadline 10m"
		update := &status.Revisions[2]
		update.State, update.AbortedTime, update.AbortReason = workv1alpha1.RevisionAborted, &aborted, message
	case "paused":
		status.State, set.Spec.Paused = workv1alpha1.StatePaused, true
	}
	for _, kind := range []string{workv1alpha1.ConditionProgressing, workv1alpha1.ConditionPaused, workv1alpha1.ConditionStalled} {
		set.Status.Conditions = append(set.Status.Conditions, metav1.Condition{
			Type: kind, Status: metav1.ConditionTrue, LastTransitionTime: started, ObservedGeneration: set.Generation, Message: message,
		})
	}
}
