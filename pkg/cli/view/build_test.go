package view_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/internal/revisiontest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

var now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func template(version string) *workv1.ManifestWorkSpec {
	raw := fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"web"},"data":{"version":%q}}`, version)
	return &workv1.ManifestWorkSpec{Workload: workv1.ManifestsTemplate{
		Manifests: []workv1.Manifest{{RawExtension: runtime.RawExtension{Raw: []byte(raw)}}},
	}}
}

func hash(version string) string { return revision.ComputeHash(template(version), nil) }

// objects returns a ManifestWorkReplicaSet that is rolling out v2 to two clusters with v1. Each change modifies it.
func objects(t *testing.T, changes ...func(*view.Objects)) *view.Objects {
	t.Helper()
	set := &workv1alpha1.ManifestWorkReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", UID: "uid", CreationTimestamp: metav1.NewTime(now)},
		Spec: workv1alpha1.ManifestWorkReplicaSetSpec{
			ManifestWorkTemplate: *template("v2"), PlacementRefs: []workv1alpha1.LocalPlacementReference{{Name: "p"}},
		},
		Status: workv1alpha1.ManifestWorkReplicaSetStatus{CurrentRevision: hash("v1"), UpdateRevision: hash("v2")},
	}
	o := &view.Objects{ReplicaSet: set, Now: now.Add(time.Hour), Placements: map[string]*clusterv1beta1.Placement{"p": {
		Status: clusterv1beta1.PlacementStatus{NumberOfSelectedClusters: 2},
	}}, Decisions: map[string][]*clusterv1beta1.PlacementDecision{"p": {{
		Status: clusterv1beta1.PlacementDecisionStatus{Decisions: []clusterv1beta1.ClusterDecision{{ClusterName: "c1"}, {ClusterName: "c2"}}},
	}}}}
	for i, version := range []string{"v1", "v2"} {
		made, err := revision.New(set, template(version), hash(version), int64(i+1))
		require.NoError(t, err)
		made.CreationTimestamp = metav1.NewTime(now)
		o.Revisions = append(o.Revisions, made)
	}
	revisiontest.Amend(o.Revisions[0], func(r *revision.Record) { r.Ended = now })
	for _, change := range changes {
		change(o)
	}
	return o
}

func complete(o *view.Objects) {
	o.ReplicaSet.Status.CurrentRevision = hash("v2")
	revisiontest.Amend(o.Revisions[1], func(r *revision.Record) { r.Ended = now.Add(time.Minute) })
}

func aborted(rev *appsv1.ControllerRevision) {
	revisiontest.Amend(rev, func(r *revision.Record) { r.Abort = &revision.Abort{At: now.Add(time.Minute)} })
}

// written returns the ManifestWork of a version that the hub wrote to a cluster at now. The agent has not reported it.
func written(t *testing.T, cluster, version string) work.Work {
	t.Helper()
	digest, err := revision.DigestOf(template(version))
	require.NoError(t, err)
	return work.Work{Digest: digest, Object: &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{
		Name: "web", Namespace: cluster, Generation: 1, CreationTimestamp: metav1.NewTime(now),
		Labels:      map[string]string{workv1alpha1.LabelReplicaSet: "default.web", workv1alpha1.LabelControllerHash: hash(version), workv1alpha1.LabelPlacement: "p"},
		Annotations: map[string]string{workv1alpha1.AnnotationAppliedAt: now.Format(time.RFC3339Nano)},
	}}}
}

const healthy = workv1.WorkApplied + workv1.WorkAvailable

// reporting sets the conditions that the agent of a work reports since a time: the named ones are True, and the others are False.
func reporting(w work.Work, since time.Time, isTrue string) work.Work {
	w.Object.Status.Conditions = nil
	for _, name := range []string{workv1.WorkApplied, workv1.WorkAvailable, workv1.WorkProgressing, workv1.WorkDegraded} {
		status := metav1.ConditionFalse
		if strings.Contains(isTrue, name) {
			status = metav1.ConditionTrue
		}
		w.Object.Status.Conditions = append(w.Object.Status.Conditions, metav1.Condition{
			Type: name, Status: status, ObservedGeneration: w.Object.Generation, LastTransitionTime: metav1.NewTime(since),
		})
	}
	return w
}

// succeeding returns the ManifestWork of a cluster where a version has succeeded since now.
func succeeding(t *testing.T, cluster, version string) work.Work {
	t.Helper()
	return reporting(written(t, cluster, version), now, healthy)
}

// at returns a work at v2 that succeeded after the time took; it is in progress if took is 0.
func at(t *testing.T, cluster string, took time.Duration) work.Work {
	t.Helper()
	if took == 0 {
		return reporting(written(t, cluster, "v2"), now, healthy+workv1.WorkProgressing)
	}
	return reporting(written(t, cluster, "v2"), now.Add(took), healthy)
}

// completed returns the ManifestWork of a cluster that has a version, but ran to completion at an earlier generation.
func completed(t *testing.T, cluster, version string) work.Work {
	t.Helper()
	w := succeeding(t, cluster, version)
	w.Object.Generation = 2
	w.Object.Status.Conditions = append(w.Object.Status.Conditions, metav1.Condition{
		Type: workv1.WorkComplete, Status: metav1.ConditionTrue, ObservedGeneration: 1, LastTransitionTime: metav1.NewTime(now),
	})
	return w
}

// sick makes the agent of a work report it as degraded from a time.
func sick(w work.Work, since time.Duration) work.Work {
	w = reporting(w, now.Add(since), healthy+workv1.WorkProgressing+workv1.WorkDegraded)
	w.Object.Annotations[workv1alpha1.AnnotationAppliedAt] = now.Add(since).Format(time.RFC3339Nano)
	w.Object.Status.Conditions[3].Message = "ImagePullBackOff"
	return w
}

// silent makes the agent of a work report nothing.
func silent(w work.Work) work.Work {
	w.Object.Status = workv1.ManifestWorkStatus{}
	return w
}
