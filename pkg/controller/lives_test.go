package controller_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"
	upstream "open-cluster-management.io/api/work/v1alpha1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/test/simulation"
)

// life is a ManifestWorkReplicaSet on three clusters, whose controller writes to an in-memory API server.
type life struct {
	*simulation.World
	t *testing.T
}

// begin begins one that has version v1 everywhere. Every write is held to the properties, and aborts are asked for.
func begin(t *testing.T) *life {
	t.Helper()
	l := &life{World: simulation.NewWorld(), t: t}
	l.Check = func(write string) { l.must(l.CheckWrite(write)) }
	l.Place("p1", []string{"c1", "c2", "c3"})
	l.Create("v1", strategy(3))
	l.quiet()
	return l
}

// strategy rolls out to some clusters at a time, and aborts once one has failed.
func strategy(atOnce int32) workv1alpha1.LocalPlacementReference {
	ref := workv1alpha1.LocalPlacementReference{Name: "p1"}
	ref.RolloutStrategy.Type, ref.RolloutStrategy.FailureStrategy = clusterv1alpha1.Progressive, workv1alpha1.AbortAll
	ref.RolloutStrategy.Progressive = &clusterv1alpha1.RolloutProgressive{
		RolloutConfig:  clusterv1alpha1.RolloutConfig{ProgressDeadline: "30s"},
		MaxConcurrency: intstr.FromInt32(atOnce),
	}
	return ref
}

func (l *life) must(err error) {
	l.t.Helper()
	require.NoError(l.t, err, strings.Join(l.Story, "\n"))
}

// quiet waits until nothing happens any more by itself, and checks the properties.
func (l *life) quiet() {
	l.t.Helper()
	l.must(l.Settle(simulation.Forever))
	l.must(l.CheckQuiet())
}

// passes lets time pass.
func (l *life) passes(during time.Duration) {
	l.t.Helper()
	l.must(l.Settle(during))
}

// has checks which version each cluster has.
func (l *life) has(want ...string) {
	l.t.Helper()
	var got []string
	for _, work := range l.Works() {
		got = append(got, work.Namespace+" "+simulation.Version(work))
	}
	slices.Sort(got)
	require.Equal(l.t, want, got, strings.Join(l.Story, "\n"))
}

func (l *life) everywhere(version string) {
	l.t.Helper()
	l.has("c1 "+version, "c2 "+version, "c3 "+version)
}

// said checks that events with these reasons were made.
func (l *life) said(reasons ...string) {
	l.t.Helper()
	story := strings.Join(l.Story, "\n")
	for _, reason := range reasons {
		require.Contains(l.t, story, "event: "+reason+": ")
	}
}

// condition returns the status, the reason and the message of a condition.
func (l *life) condition(kind string) string {
	found := meta.FindStatusCondition(l.Object().Status.Conditions, kind)
	if found == nil {
		return ""
	}
	return fmt.Sprintf("%s %s: %s", found.Status, found.Reason, found.Message)
}

// refuse lets the writes whose name begins so fail, until the returned function is called.
func (l *life) refuse(write string, fault simulation.Fault) (permit func()) {
	l.Fault = func(what string) simulation.Fault {
		if strings.HasPrefix(what, write) {
			return fault
		}
		return simulation.NoFault
	}
	return func() { l.Fault = nil }
}

// patch changes an object, as somebody else than the hub.
func (l *life) patch(kind simulation.Kind, namespace, name, patch string) {
	l.t.Helper()
	_, err := l.API.Patch(kind, namespace, name, []byte(patch), false)
	require.NoError(l.t, err)
}

// A rollout ends at every cluster, an undo returns to a revision that is there, and old ones are pruned (R3, R5, R13).
func TestLifeOfUpdates(t *testing.T) {
	l := begin(t)
	for _, version := range []string{"v2", "v3", "v4"} {
		l.Update(version)
		l.quiet()
		l.everywhere(version)
	}
	l.Edit("keeps one old revision", func(spec *workv1alpha1.ManifestWorkReplicaSetSpec) { spec.RevisionHistoryLimit = ptr.To[int32](1) })
	l.quiet()
	require.Len(t, l.Revisions(), 2)
	l.Update("v3")
	l.quiet()
	l.everywhere("v3")
	require.Len(t, l.Revisions(), 2, "it is the same revision")
	l.said(workv1alpha1.EventRolloutStarted, workv1alpha1.EventRolloutComplete, workv1alpha1.EventRevisionCreated, workv1alpha1.EventRevisionFound,
		workv1alpha1.EventRevisionPruned)
}

// A failure takes every cluster back, whatever process of the hub carries it out; the next template and a retry roll out again (R4, R12,
// R16).
func TestLifeOfAborts(t *testing.T) {
	for _, fault := range []simulation.Fault{simulation.NoFault, simulation.KilledBefore, simulation.KilledAfter, simulation.Refused, simulation.Lost, simulation.Conflicted} {
		t.Run(string(fault), func(t *testing.T) {
			l := begin(t)
			writes := 0
			l.Fault = func(string) simulation.Fault {
				if writes++; writes%3 == 0 && writes < 30 {
					return fault
				}
				return simulation.NoFault
			}
			l.Report("c2", "v2", simulation.Hangs)
			l.Update("v2")
			l.quiet()
			l.everywhere("v1")
			require.NotNil(t, l.Object().Status.AbortedTime)
			require.Contains(t, l.condition(workv1alpha1.ConditionProgressing), "c2")
			l.Update("v3")
			l.quiet()
			l.everywhere("v3")
			l.AbortByHand()
			l.quiet()
			l.everywhere("v3")
		})
	}
}

// What the API server refuses is named with its words, holds nothing else up, and is written when the cause is gone (R11, R14).
func TestLifeOfRefusedWrites(t *testing.T) {
	for name, test := range map[string]struct {
		write string
		held  []string
	}{
		"a ManifestWork": {write: "patch work c2", held: []string{"c1 v2", "c2 v1", "c3 v2"}},
		"a revision":     {write: "create revision", held: []string{"c1 v1", "c2 v1", "c3 v1"}},
	} {
		t.Run(name, func(t *testing.T) {
			l := begin(t)
			l.Edit("waits for ever", func(spec *workv1alpha1.ManifestWorkReplicaSetSpec) {
				spec.PlacementRefs[0].RolloutStrategy.Progressive.ProgressDeadline = "None"
			})
			permit := l.refuse(test.write, simulation.Denied)
			l.Update("v2")
			l.passes(10 * time.Minute)
			l.has(test.held...)
			permit()
			l.quiet()
			l.everywhere("v2")
		})
	}
}

// A spec that can't be rolled out is named, and what is on the clusters stays (R8).
func TestLifeWithABrokenSpec(t *testing.T) {
	l := begin(t)
	l.Spoil()
	l.quiet()
	require.Contains(t, l.condition(workv1alpha1.ConditionManifestworkApplied), "minSuccessTime")
	l.Update("v1")
	l.patch(simulation.ReplicaSets, simulation.Namespace, simulation.Name, `{"spec":{"manifestWorkTemplate":{"workload":{"manifests":[]}}}}`)
	l.quiet()
	require.Contains(t, l.condition(workv1alpha1.ConditionManifestworkApplied), "manifests is empty")
	l.everywhere("v1")
	l.Update("v2")
	l.quiet()
	l.everywhere("v2")
}

// A cluster that nothing selects any more loses its work, and one that joins gets one (R8).
func TestLifeOfSelection(t *testing.T) {
	l := begin(t)
	l.Place("p1", []string{"c1", "c4"})
	l.quiet()
	l.has("c1 v1", "c4 v1")
	l.Edit("refers to nothing", func(spec *workv1alpha1.ManifestWorkReplicaSetSpec) { spec.PlacementRefs[0].Name = "missing" })
	l.quiet()
	l.has("c1 v1", "c4 v1")
	require.Contains(t, l.condition(workv1alpha1.ConditionPlacementVerified), "missing")
}

// If somebody deletes all revisions, the one of the template is created again and stays the stable one. Labels that somebody removes come back
// (R7, R9).
func TestLifeOfDeletedThings(t *testing.T) {
	l := begin(t)
	l.Update("v2")
	l.quiet()
	for _, rev := range l.Revisions() {
		l.DeleteRevision(rev.Name)
	}
	l.patch(simulation.Works, "c1", simulation.Name, `{"metadata":{"labels":{"`+workv1alpha1.LabelReplicaSet+`":null}}}`)
	l.quiet()
	l.everywhere("v2")
	l.Report("c1", "v3", simulation.Hangs)
	l.Update("v3")
	l.quiet()
	l.everywhere("v2")
}

// A work of somebody else that has the usual name is left alone (R9).
func TestLifeBesideAForeignWork(t *testing.T) {
	l := &life{World: simulation.NewWorld(), t: t}
	foreign := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"namespace": "c1", "name": simulation.Name}}}
	_, err := l.API.Create(simulation.Works, foreign)
	require.NoError(t, err)
	l.Place("p1", []string{"c1", "c2"})
	l.Create("v1", strategy(2))
	l.quiet()
	require.Len(t, l.Works(), 3)
	l.said(workv1alpha1.EventWorkNameTaken)
}

// The deletion of the object deletes its works, and waits for the agents where it is to (R18).
func TestLifeEnds(t *testing.T) {
	for _, policy := range []upstream.CascadeDeletionPolicy{upstream.Background, upstream.Foreground} {
		t.Run(string(policy), func(t *testing.T) {
			l := begin(t)
			l.Edit("deletes "+string(policy), func(spec *workv1alpha1.ManifestWorkReplicaSetSpec) { spec.CascadeDeletionPolicy = policy })
			l.quiet()
			require.NoError(t, l.API.Delete(simulation.ReplicaSets, simulation.Namespace, simulation.Name, nil))
			l.must(l.Settle(simulation.Forever))
			require.Nil(t, l.Object())
			require.Empty(t, l.Works())
		})
	}
}
