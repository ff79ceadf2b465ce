package simulation

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	upstream "open-cluster-management.io/api/work/v1alpha1"
	"pgregory.net/rapid"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// ends is the last chapter of each generated story. The object is deleted; in half of the stories, the workloads must stay. Agents are
// offline for a while, release nothing, or lose their work; the hub is killed and starts again; a user gives up. CheckWrite checks P11 at
// each deletion of a work. In the end, only the workloads that must stay are left, and the next object takes them over.
func (m *model) ends(t *rapid.T) {
	preserve := rapid.Bool().Draw(t, "preserve")
	m.toggle(t, preserve)
	m.disturb(t)
	m.w.Delete()
	repeat := map[string]func(*rapid.T){
		"wait": func(t *rapid.T) { m.settle(time.Duration(rapid.IntRange(0, 40).Draw(t, "seconds")) * time.Second) },
		"restart": func(*rapid.T) {
			m.w.Tell("the hub restarts")
			m.w.Restart()
		},
		"outcome": func(t *rapid.T) {
			outcome := rapid.SampledFrom([]Outcome{Succeeds, Clings, Silent, Completes, Hangs}).Draw(t, "outcome")
			m.report(rapid.SampledFrom(clusterNames).Draw(t, "cluster"), "", outcome)
		},
		"delete a work": func(t *rapid.T) { m.loseWork(t) },
	}
	for range rapid.IntRange(0, 4).Draw(t, "incidents") {
		what := rapid.SampledFrom(slices.Sorted(maps.Keys(repeat))).Draw(t, "incident")
		repeat[what](t)
	}
	m.w.Fault, m.w.Lag = nil, nil
	m.calm()
	if preserve && m.w.Object() != nil && rapid.Bool().Draw(t, "gives up") {
		m.w.Preserve(false)
	}
	m.finish(preserve)
	m.takenOver()
}

// toggle sets the field while the world is quiet. No work is written, and no revision is created.
func (m *model) toggle(t *rapid.T, preserve bool) {
	versions := func() []string {
		var all []string
		for _, work := range m.works() {
			all = append(all, work.Namespace+" "+work.ResourceVersion)
		}
		for _, rev := range m.w.Revisions() {
			all = append(all, rev.Name+" "+string(rev.UID))
		}
		return all
	}
	before := versions()
	m.w.Edit("sets cascadeDeletionPolicy", func(spec *workv1alpha1.ManifestWorkReplicaSetSpec) {
		spec.CascadeDeletionPolicy = rapid.SampledFrom([]upstream.CascadeDeletionPolicy{upstream.Background, upstream.Foreground}).Draw(t, "cascade")
	})
	m.w.Preserve(preserve)
	m.settle(10 * time.Second)
	require.Equal(t, before, versions(), "R19")
}

// disturb makes caches lag and writes fail in some of the stories.
func (m *model) disturb(t *rapid.T) {
	if rapid.Bool().Draw(t, "lagging caches at the end") {
		m.w.Lag = func(waiting int) int { return rapid.IntRange(1, waiting).Draw(t, "observed") }
	}
	if rapid.Bool().Draw(t, "faults at the end") {
		m.w.Fault = func(string) Fault {
			if rapid.IntRange(0, 4).Draw(t, "fault?") > 0 {
				return NoFault
			}
			return rapid.SampledFrom([]Fault{KilledBefore, KilledAfter, Refused, Throttled, Conflicted, Lost}).Draw(t, "fault")
		}
	}
}

func (m *model) loseWork(t *rapid.T) {
	works := m.works()
	if m.w.Network != nil || len(works) == 0 {
		return
	}
	victim := rapid.SampledFrom(works).Draw(t, "work")
	_ = m.w.API.Delete(Works, victim.Namespace, victim.Name, nil)
	m.w.Tell("user: deletes the work of %s", victim.Namespace)
}

// finish makes all agents behave correctly, and waits until the object is gone.
func (m *model) finish(preserve bool) {
	clear(m.w.outcomes)
	m.w.agentsSaw = 0
	if m.w.Network != nil {
		m.w.Network.reconsider("")
	}
	m.settle(Forever)
	if preserve && m.w.Network != nil && m.w.Object() != nil {
		told := meta.FindStatusCondition(m.w.Object().Status.Conditions, workv1alpha1.ConditionDeleting)
		require.NotNil(m.t, told)
		require.Equal(m.t, workv1alpha1.ReasonPreservingNotSupported, told.Reason)
		m.w.Preserve(false)
		m.settle(Forever)
	}
	if m.w.Object() != nil {
		m.t.Fatalf("the object is not gone\n%s", m.story())
	}
	m.must(m.w.CheckQuiet())
}

// takenOver creates the object again. It takes over the remaining workloads unchanged.
func (m *model) takenOver() {
	if m.w.Network != nil || len(m.w.kept) == 0 {
		return
	}
	for _, rev := range m.w.Revisions() { // As garbage collection does.
		_ = m.w.API.Delete(Revisions, Namespace, rev.Name, nil)
	}
	m.w.Check = nil
	m.w.Create("v1", all("p1", "None", false), all("p2", "None", false))
	m.settle(time.Minute)
	m.must(m.w.checkKept())
}

// TestEnding plays only the last chapter, after a short story.
func TestEnding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(t)
		m.w.Fault, m.w.Lag, m.w.adversaries.strike = nil, nil, nil
		m.w.Repent()
		m.quiet()
		m.ends(t)
	})
}
