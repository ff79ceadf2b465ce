package plugin

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/ptr"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/internal/goldentest"
	"github.com/open-cluster-management-io/work-rollback/internal/revisiontest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// halfSick returns 20 clusters 25 s before the first deadlines: 7 are degraded with v2, 2 are offline, a policy on the hub rejects the work
// of one cluster, and another cluster can't apply its manifests. One of the waiting clusters is sick with v1.
func halfSick(t *testing.T, deadline string) *view.Objects {
	t.Helper()
	h := newOneHub(t)
	hashes := []string{h.revisions[0].Labels[workv1alpha1.LabelControllerHash], h.revisions[1].Labels[workv1alpha1.LabelControllerHash]}
	wrote := time.Date(2026, 1, 1, 3, 0, 0, 0, time.UTC)
	set := h.set
	set.Status.CurrentRevision, set.Status.State = hashes[0], workv1alpha1.StateRollingOut
	revisiontest.Amend(&h.revisions[1], func(r *revision.Record) { r.Ended = time.Time{} })
	h.revisions[1].CreationTimestamp = metav1.NewTime(wrote)
	ref := workv1alpha1.LocalPlacementReference{Name: "production"}
	ref.RolloutStrategy.FailureStrategy = workv1alpha1.AbortAll
	ref.RolloutStrategy.Type = clusterv1alpha1.Progressive
	ref.RolloutStrategy.Progressive = &clusterv1alpha1.RolloutProgressive{
		RolloutConfig:  clusterv1alpha1.RolloutConfig{MaxFailures: intstr.FromInt32(6), ProgressDeadline: deadline},
		MaxConcurrency: intstr.FromString("50%"),
	}
	set.Spec.PlacementRefs = []workv1alpha1.LocalPlacementReference{ref}
	set.Status.Summary.Total, set.Status.Summary.DesiredTotal = 20, 20
	o := &view.Objects{ReplicaSet: set, Now: wrote.Add(15 * time.Second), Placements: map[string]*clusterv1beta1.Placement{"production": {}}}
	for i := range h.revisions {
		o.Revisions = append(o.Revisions, &h.revisions[i])
	}
	decision := &clusterv1beta1.PlacementDecision{}
	o.Decisions = map[string][]*clusterv1beta1.PlacementDecision{"production": {decision}}
	o.Placements["production"].Status.NumberOfSelectedClusters = 20
	for i := range 20 {
		name := fmt.Sprintf("cluster%02d", i+1)
		decision.Status.Decisions = append(decision.Status.Decisions, clusterv1beta1.ClusterDecision{ClusterName: name})
		version, bad := 2, ""
		switch {
		case i < 7:
			bad = workv1.WorkDegraded
		case i == 9:
			bad = workv1.WorkApplied
		case i == 15:
			version, bad = 1, workv1.WorkDegraded
		case i == 10 || i > 10:
			version = 1
		}
		w := workOn(t, set, name, fmt.Sprintf("v%d", version), hashes[version-1], wrote, bad)
		if i == 7 || i == 8 {
			w.Object.Status = workv1.ManifestWorkStatus{}
		}
		o.Works = append(o.Works, w)
	}
	set.Status.Rejections = []workv1alpha1.ClusterFailure{{Cluster: "cluster11", Placement: "production", Since: metav1.NewTime(wrote),
		Reason: workv1alpha1.FailureRejected, Message: `admission webhook "images.example.com" denied the request: image web:v2 is not signed`}}
	set.Status.Revisions = []workv1alpha1.RevisionStatus{
		{Hash: hashes[1], Revision: 2, State: workv1alpha1.RevisionProgressing, Clusters: 10, ChangeCause: "image v2", LastRolledOutTime: &metav1.Time{Time: wrote}},
		{Hash: hashes[0], Revision: 1, State: workv1alpha1.RevisionAvailable, Clusters: 10},
	}
	return o
}

func workOn(t *testing.T, set *workv1alpha1.ManifestWorkReplicaSet, cluster, version, hash string, at time.Time, bad string) work.Work {
	t.Helper()
	digest, err := revision.DigestOf(templateWith(version))
	require.NoError(t, err)
	mw := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: cluster, Generation: 1,
		Labels: map[string]string{workv1alpha1.LabelReplicaSet: workv1alpha1.OwnerLabelValue(set.Namespace, set.Name),
			workv1alpha1.LabelControllerHash: hash, workv1alpha1.LabelPlacement: "production"},
		Annotations: map[string]string{workv1alpha1.AnnotationAppliedAt: at.Format(time.RFC3339Nano)},
	}}
	for _, condition := range []string{workv1.WorkApplied, workv1.WorkAvailable, workv1.WorkProgressing, workv1.WorkDegraded} {
		good := condition == workv1.WorkApplied || condition == workv1.WorkAvailable
		is, message := good, ""
		if condition == bad {
			is = !good
			message = map[string]string{workv1.WorkDegraded: "Deployment shop/web: 0 of 3 replicas are available: ImagePullBackOff",
				workv1.WorkApplied: `Deployment shop/web: admission webhook "quota" denied the request: exceeded quota`}[bad]
		}
		found := metav1.Condition{Type: condition, Status: metav1.ConditionFalse, Message: message, ObservedGeneration: 1, LastTransitionTime: metav1.NewTime(at)}
		if is {
			found.Status = metav1.ConditionTrue
		}
		mw.Status.Conditions = append(mw.Status.Conditions, found)
	}
	return work.Work{Object: mw, Digest: digest}
}

// TestSickScreens: a screen of 80 columns shows the engineer on call what is wrong and why, what happens next and when, and what to type.
func TestSickScreens(t *testing.T) {
	for name, change := range map[string]func(t *testing.T) *view.Objects{
		"deadline-40s": func(t *testing.T) *view.Objects { return halfSick(t, "40s") },
		"deadline-10m": func(t *testing.T) *view.Objects { return halfSick(t, "10m") },
		"no-deadline":  func(t *testing.T) *view.Objects { return halfSick(t, "None") },
		"hub-stopped": func(t *testing.T) *view.Objects {
			o := halfSick(t, "40s")
			o.Lease = lateLease()
			renewed := metav1.NewMicroTime(o.Now)
			o.Lease.Spec.RenewTime = &renewed
			o.Now = o.Now.Add(5 * time.Minute)
			return o
		},
		"hub-refuses": func(t *testing.T) *view.Objects {
			o := halfSick(t, "40s")
			o.ReplicaSet.Status.State = workv1alpha1.StateStalled
			o.ReplicaSet.Status.Conditions = append(o.ReplicaSet.Status.Conditions, metav1.Condition{Type: workv1alpha1.ConditionStalled,
				Status: metav1.ConditionTrue, Reason: workv1alpha1.ReasonDowngradeRefused,
				Message: "this hub is 1.0.0, version 1.1.0 ran last, and there are no snapshots of 1.0.0 to restore"})
			return o
		},
	} {
		t.Run(name, func(t *testing.T) {
			objects := change(t)
			var out bytes.Buffer
			o := &options{IOStreams: genericiooptions.IOStreams{Out: &out, ErrOut: &out}, now: func() time.Time { return objects.Now }, age: duration.HumanDuration}
			require.NoError(t, o.drawFleet(&out, &out, view.FleetOf(objects), screen{width: 80}))
			fmt.Fprintln(&out)
			ahead, err := view.AheadOf(objects)
			require.NoError(t, err)
			require.NoError(t, o.printAhead(ahead, &view.Change{Same: true}, screen{width: 80}))
			fmt.Fprintln(&out)
			for _, cluster := range []string{"cluster03", "cluster11"} {
				story, err := view.Why(objects, cluster)
				require.NoError(t, err)
				require.NoError(t, o.printStory(story, screen{width: 80}))
				fmt.Fprintln(&out)
			}
			goldentest.Equal(t, "screens/"+name+".txt", out.String())
		})
	}
}

// aborted returns the fleet of halfSick 15 s after a rollout to 4 clusters was aborted, because 3 of them were degraded. All have v1 again.
func aborted(t *testing.T) *view.Objects {
	t.Helper()
	o := halfSick(t, "10m")
	set, update := o.ReplicaSet, o.Revisions[1]
	began := update.CreationTimestamp.Time
	at := metav1.NewTime(began.Add(10 * time.Minute))
	o.Now = at.Add(15 * time.Second)
	strategy := set.Spec.PlacementRefs[0].RolloutStrategy.Progressive
	strategy.MaxFailures, strategy.MaxConcurrency = intstr.FromInt32(2), intstr.FromString("20%")
	status := &set.Status
	status.State, status.AbortedTime, status.Rejections = workv1alpha1.StateAborted, &at, nil
	status.Conditions = []metav1.Condition{{Type: workv1alpha1.ConditionProgressing, Status: metav1.ConditionFalse, LastTransitionTime: at,
		ObservedGeneration: set.Generation, Message: "the rollout of revision " + update.Name + " was aborted: placement production: 3 of 20 clusters failed " +
			"(cluster01, cluster02, cluster03): not successful within progressDeadline 10m, maxFailures is 2; rolled back to revision " +
			o.Revisions[0].Name + ", confirmed by 20 of 20 clusters"}}
	revisiontest.Amend(update, func(r *revision.Record) { r.Abort = &revision.Abort{At: at.Time, Restored: o.Now} })
	listed := status.Revisions
	listed[0].State, listed[0].Clusters, listed[0].AbortedTime = workv1alpha1.RevisionAborted, 0, &at
	listed[0].Name, listed[0].ReachedClusters = update.Name, ptr.To[int32](4)
	listed[1].Name, listed[1].ReachedClusters, listed[1].Clusters = o.Revisions[0].Name, ptr.To[int32](20), 20
	o.Works = nil
	for i, decision := range o.Decisions["production"][0].Status.Decisions {
		wrote := began.Add(-3 * time.Hour)
		if i < 4 {
			wrote = at.Time
		}
		o.Works = append(o.Works, workOn(t, set, decision.ClusterName, "v1", status.CurrentRevision, wrote, ""))
		if i < 3 {
			status.Failures = append(status.Failures, workv1alpha1.ClusterFailure{Cluster: decision.ClusterName, Placement: "production", Since: at,
				Reason: workv1alpha1.FailureDegraded, Message: "Degraded=True: Deployment shop/web: 0 of 3 replicas are available: ImagePullBackOff"})
		}
	}
	return o
}

// TestAbortedScreen: the picture in the README, docs/images/demo.svg, shows this screen.
func TestAbortedScreen(t *testing.T) {
	objects := aborted(t)
	var out bytes.Buffer
	o := &options{IOStreams: genericiooptions.IOStreams{Out: &out, ErrOut: &out}, now: func() time.Time { return objects.Now }, age: duration.HumanDuration}
	fmt.Fprintln(&out, "$ kubectl mwrs get web")
	require.NoError(t, o.drawFleet(&out, &out, view.FleetOf(objects), screen{width: 80}))
	fmt.Fprintln(&out, "\n$ kubectl mwrs why web cluster01")
	story, err := view.Why(objects, "cluster01")
	require.NoError(t, err)
	require.NoError(t, o.printStory(story, screen{width: 80}))
	goldentest.Equal(t, "screens/aborted.txt", out.String())
}
