package view_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// member is a cluster of a large fleet: the version that the hub wrote, when, and the conditions that are True.
type member struct {
	version string
	at      time.Duration
	true    string
	change  func(*workv1.ManifestWork)
}

func (m *member) work(t *testing.T, i int) work.Work {
	t.Helper()
	at := now.Add(m.at)
	w := reporting(written(t, fmt.Sprintf("c%d", i), m.version), at, m.true)
	w.Object.Annotations[workv1alpha1.AnnotationAppliedAt] = at.Format(time.RFC3339Nano)
	if m.change != nil {
		m.change(w.Object)
	}
	return w
}

// fleetOf returns the objects of a fleet with the metadata of its works, and the whole works.
func fleetOf(t *testing.T, members []member, change func(*view.Objects)) (o *view.Objects, whole []work.Work) {
	t.Helper()
	o = objects(t)
	decision := &clusterv1beta1.PlacementDecision{}
	summary := &o.ReplicaSet.Status.Summary
	for i := range members {
		w := members[i].work(t, i)
		whole = append(whole, w)
		o.Works = append(o.Works, work.Work{Object: &workv1.ManifestWork{ObjectMeta: w.Object.ObjectMeta}})
		decision.Status.Decisions = append(decision.Status.Decisions, clusterv1beta1.ClusterDecision{ClusterName: w.Cluster()})
		for _, c := range w.Object.Status.Conditions {
			if c.Status == metav1.ConditionTrue {
				*map[string]*int{
					workv1.WorkApplied: &summary.Applied, workv1.WorkAvailable: &summary.Available,
					workv1.WorkProgressing: &summary.Progressing, workv1.WorkDegraded: &summary.Degraded,
				}[c.Type]++
			}
		}
	}
	summary.Total = len(members)
	o.Decisions["p"] = []*clusterv1beta1.PlacementDecision{decision}
	o.Placements["p"].Status.NumberOfSelectedClusters = int32(len(members)) //nolint:gosec // A few.
	if change != nil {
		change(o)
	}
	return o, whole
}

// reads reads works until the sample is sufficient or has no more works, and returns the works that were read.
func reads(o *view.Objects, whole []work.Work, s *view.Sample) (presumed *view.Objects, uncounted int, read []int) {
	next, left := s.Must, s.May
	for {
		for _, i := range next {
			o.Works[i] = whole[i]
		}
		s.Read(next)
		read = append(read, next...)
		if presumed, uncounted = s.Presumed(); uncounted <= 0 || len(left) == 0 {
			return presumed, uncounted, read
		}
		next, left = left[:1], left[1:]
	}
}

// TestSampleOfARollout: the works of failed clusters are read, then the works that the hub wrote last, until the successes match the hub's
// count. The screen is the same as for all works, and names the works that were not read.
func TestSampleOfARollout(t *testing.T) {
	members := []member{
		{"v2", 1 * time.Minute, healthy, nil}, {"v2", 2 * time.Minute, healthy, nil},
		{"v2", 3 * time.Minute, healthy + workv1.WorkProgressing, nil}, {"v2", 4 * time.Minute, healthy, nil},
		{"v2", 5 * time.Minute, healthy + workv1.WorkProgressing, nil}, {"v1", 0, healthy, nil},
	}
	counted := func(updated int) func(*view.Objects) {
		return func(o *view.Objects) {
			o.ReplicaSet.Status.Summary.Updated = updated
			o.ReplicaSet.Status.Failures = []workv1alpha1.ClusterFailure{{Cluster: "c4", Placement: "p", Since: metav1.NewTime(now)}}
		}
	}
	o, whole := fleetOf(t, members, counted(3))
	all := *o
	all.Works = whole
	presumed, uncounted, read := reads(o, whole, view.SampleOf(o))
	require.Zero(t, uncounted)
	require.Equal(t, []int{4, 3, 2}, read)
	got, want := view.FleetOf(presumed), view.FleetOf(&all)
	require.Equal(t, []string{"the ManifestWorks of 2 clusters were not read: these clusters count as succeeded, as in the hub's status; " +
		"`kubectl mwrs clusters web` reads all ManifestWorks"}, got.Notes)
	require.Equal(t, want.Rest, got.Rest)
	require.Equal(t, want.Attention, got.Attention)
	require.Equal(t, want.Bars, got.Bars)
	require.Equal(t, want.Summary, got.Summary)
	_, err := view.Why(presumed, "c4")
	require.NoError(t, err)

	o, whole = fleetOf(t, members, counted(2)) // The hub's status is older than the works.
	presumed, uncounted, read = reads(o, whole, view.SampleOf(o))
	require.Equal(t, 1, uncounted)
	require.Len(t, read, 5)
	require.Empty(t, view.FleetOf(presumed).Notes, "all were read")

	o, _ = fleetOf(t, members, counted(2))
	presumed, uncounted = view.SampleOf(o).Presumed()
	require.Equal(t, 3, uncounted)
	require.Contains(t, view.FleetOf(presumed).Notes[0], "count as succeeded; the hub's status counts 3 fewer; ")
}

// TestSampleOfAnAbort: the works that the abort wrote are read. The others count as succeeded only if the hub's counts prove it.
func TestSampleOfAnAbort(t *testing.T) {
	restored := func(o *view.Objects) {
		at := metav1.NewTime(now.Add(time.Hour))
		o.ReplicaSet.Status.AbortedTime = &at
	}
	members := []member{{"v1", 0, healthy, nil}, {"v1", time.Hour, workv1.WorkApplied, nil}, {"v2", 2 * time.Minute, healthy, nil}}
	o, whole := fleetOf(t, members, restored)
	presumed, uncounted, read := reads(o, whole, view.SampleOf(o))
	require.Zero(t, uncounted)
	require.Equal(t, []int{1, 2}, read)
	require.Equal(t, "1 of 3 clusters confirmed revision 1", view.FleetOf(presumed).Summary)

	members[0].true = workv1.WorkApplied + workv1.WorkDegraded
	o, whole = fleetOf(t, members, restored)
	_, uncounted, _ = reads(o, whole, view.SampleOf(o))
	require.Equal(t, 3, uncounted, "a cluster that the abort did not write to is degraded")
}

// TestUnclearMetadata: a work whose metadata does not show the state of its cluster is read, regardless of the hub's counts.
func TestUnclearMetadata(t *testing.T) {
	deleted := metav1.NewTime(now)
	for name, change := range map[string]func(*workv1.ManifestWork){
		"being deleted":    func(w *workv1.ManifestWork) { w.DeletionTimestamp = &deleted },
		"unknown revision": func(w *workv1.ManifestWork) { w.Labels[workv1alpha1.LabelControllerHash] = "x" },
		"no time":          func(w *workv1.ManifestWork) { w.Annotations = nil },
		"kept objects":     func(w *workv1.ManifestWork) { w.Annotations[workv1alpha1.AnnotationKeptRevision] = "x" },
	} {
		o, _ := fleetOf(t, []member{{"v2", 0, healthy, nil}, {"v2", 0, healthy, change}}, nil)
		require.Equal(t, []int{1}, view.SampleOf(o).Must, name)
	}
}

// TestNoSample: all works are read if their metadata is not sufficient.
func TestNoSample(t *testing.T) {
	deleted := metav1.NewTime(now)
	for name, change := range map[string]func(*view.Objects){
		"deletion":       func(o *view.Objects) { o.ReplicaSet.DeletionTimestamp = &deleted },
		"handover":       func(o *view.Objects) { o.ReplicaSet.Spec.PruneStrategy = workv1alpha1.PruneWhenAvailable },
		"no revisions":   func(o *view.Objects) { o.Missing = []string{"list controllerrevisions.apps in namespace default"} },
		"over a broker":  func(o *view.Objects) { o.Works = nil },
		"not begun":      func(o *view.Objects) { o.ReplicaSet.Status.UpdateRevision = "" },
		"not readable":   func(o *view.Objects) { o.Revisions[0].Data.Raw = []byte("{}") },
		"run to the end": func(o *view.Objects) { o.Revisions[0].Data.Raw = completing(t) },
	} {
		o, _ := fleetOf(t, []member{{"v2", 0, healthy, nil}}, change)
		require.Nil(t, view.SampleOf(o), name)
	}
}

// completing returns the data of a revision with a rule for Complete.
func completing(t *testing.T) []byte {
	t.Helper()
	spec := template("v1")
	spec.ManifestConfigs = []workv1.ManifestConfigOption{{ConditionRules: []workv1.ConditionRule{{Condition: workv1.ManifestComplete}}}}
	made, err := revision.New(&workv1alpha1.ManifestWorkReplicaSet{}, spec, "x", 1)
	require.NoError(t, err)
	return made.Data.Raw
}
