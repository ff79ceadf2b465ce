// Package fleettest builds the API objects of fleets for the tests of views and of the dashboard.
package fleettest

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// Objects returns n clusters, c1 to cn, that succeeded with a revision at the given time, except some that are in flight. It panics on an
// error.
func Objects(n int, at time.Time, inFlight ...string) *view.Objects {
	busy := map[string]bool{}
	for _, name := range inFlight {
		busy[name] = true
	}
	since := metav1.NewTime(at)
	set := &workv1alpha1.ManifestWorkReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "1"}}
	set.Spec.PlacementRefs = []workv1alpha1.LocalPlacementReference{{Name: "production"}}
	set.Spec.PlacementRefs[0].RolloutStrategy.Type = clusterv1alpha1.All
	set.Spec.PlacementRefs[0].RolloutStrategy.All = &clusterv1alpha1.RolloutAll{}
	set.Spec.ManifestWorkTemplate.Workload.Manifests = []workv1.Manifest{{}}
	set.Spec.ManifestWorkTemplate.Workload.Manifests[0].Raw = []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`)
	hash := revision.ComputeHash(&set.Spec.ManifestWorkTemplate, nil)
	set.Status.UpdateRevision, set.Status.State = hash, workv1alpha1.StateRollingOut
	object, err := revision.New(set, &set.Spec.ManifestWorkTemplate, hash, 1)
	if err != nil {
		panic(err)
	}
	digest, err := revision.DigestOf(&set.Spec.ManifestWorkTemplate)
	if err != nil {
		panic(err)
	}
	o := &view.Objects{ReplicaSet: set, Now: at, Placements: map[string]*clusterv1beta1.Placement{"production": {}}}
	o.Revisions = append(o.Revisions, object)
	decision := &clusterv1beta1.PlacementDecision{}
	for i := range n {
		name := fmt.Sprintf("c%d", i+1)
		decision.Status.Decisions = append(decision.Status.Decisions, clusterv1beta1.ClusterDecision{ClusterName: name})
		mw := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "web", Generation: 1, CreationTimestamp: since}}
		mw.Labels = map[string]string{
			workv1alpha1.LabelReplicaSet:     workv1alpha1.OwnerLabelValue(set.Namespace, set.Name),
			workv1alpha1.LabelControllerHash: hash, workv1alpha1.LabelPlacement: "production",
		}
		mw.Annotations = map[string]string{workv1alpha1.AnnotationAppliedAt: at.Format(time.RFC3339Nano)}
		reports := map[string]bool{workv1.WorkApplied: true, workv1.WorkAvailable: true, workv1.WorkProgressing: busy[name]}
		for kind, is := range reports {
			condition := metav1.Condition{Type: kind, Status: metav1.ConditionFalse, ObservedGeneration: 1, LastTransitionTime: since}
			if is {
				condition.Status = metav1.ConditionTrue
			}
			if kind == workv1.WorkProgressing && is {
				condition.Message = "waiting for Pods"
			}
			mw.Status.Conditions = append(mw.Status.Conditions, condition)
		}
		slices.SortFunc(mw.Status.Conditions, func(a, b metav1.Condition) int { return len(a.Type) - len(b.Type) })
		o.Works = append(o.Works, work.Work{Object: mw, Digest: digest})
	}
	o.Decisions = map[string][]*clusterv1beta1.PlacementDecision{"production": {decision}}
	o.Placements["production"].Status.NumberOfSelectedClusters = int32(n) //nolint:gosec // The size of a test.
	return o
}
