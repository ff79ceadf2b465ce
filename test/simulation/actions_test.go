package simulation

import (
	"fmt"
	"time"

	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// placeAgain completes the decisions of a placement, either at once or before OCM's leader lease has expired.
func (m *model) placeAgain(t *rapid.T, name string) {
	m.settle(time.Duration(rapid.SampledFrom([]int{0, 1, 3, 20, 170}).Draw(t, "seconds")) * time.Second)
	m.write(name, m.placed[name])
}

// actions are the events that may happen in a story.
func (m *model) actions() map[string]func(*rapid.T) {
	actions := map[string]func(*rapid.T){
		"update": func(t *rapid.T) { m.w.Update(rapid.SampledFrom([]string{"v1", "v2", "v3"}).Draw(t, "version")) },
		"outcome": func(t *rapid.T) {
			cluster := rapid.SampledFrom(append([]string{""}, clusterNames...)).Draw(t, "cluster")
			version := rapid.SampledFrom([]string{"v1", "v2", "v3"}).Draw(t, "version")
			m.report(cluster, version, rapid.SampledFrom([]Outcome{Succeeds, Lies, LiesThenHangs, Hangs, Degrades, Flaps, Silent}).Draw(t, "outcome"))
		},
		"success gate": func(t *rapid.T) {
			cluster := rapid.SampledFrom(append([]string{""}, clusterNames...)).Draw(t, "cluster")
			version := rapid.SampledFrom([]string{"v1", "v2", "v3"}).Draw(t, "version")
			m.w.Gate(cluster, version, rapid.SampledFrom([]GateSays{"True", "False", "Unknown", GateSilent, GateOlder}).Draw(t, "gate says"))
		},
		"undo with an offline cluster": func(t *rapid.T) { m.undoOffline(t) },
		"abort by hand": func(_ *rapid.T) {
			if m.w.Object().Status.AbortedTime == nil {
				m.w.AbortByHand()
			}
		},
		"place": func(t *rapid.T) { m.place(t) },
		"recreate a placement": func(t *rapid.T) {
			name := rapid.SampledFrom(placementNames).Draw(t, "placement")
			m.w.Recreate(name)
			m.placeAgain(t, name)
		},
		"empty a placement's decisions": func(t *rapid.T) {
			name := rapid.SampledFrom(placementNames).Draw(t, "placement")
			m.w.Empty(name, rapid.Bool().Draw(t, "counted"))
			m.placeAgain(t, name)
		},
		"replace a placement": func(t *rapid.T) {
			name := rapid.SampledFrom(placementNames).Draw(t, "placement")
			_ = m.w.API.Delete(Placements, Namespace, name, nil)
			m.w.Tell("placement %s is deleted", name)
			m.placeAgain(t, name)
		},
		"retry": func(_ *rapid.T) {
			if m.w.Object().Status.AbortedTime != nil {
				m.w.Retry()
			}
		},
		"retry by annotation": func(_ *rapid.T) { m.w.RetryByAnnotation(m.w.hubNow()) },
		"strategies": func(t *rapid.T) {
			refs := m.refs(t)
			m.w.Edit("changes the strategies", func(spec *workv1alpha1.ManifestWorkReplicaSetSpec) { spec.PlacementRefs = refs })
		},
		"aborted revision policy": func(t *rapid.T) {
			policy := rapid.SampledFrom([]workv1alpha1.AbortedRevisionPolicy{"", workv1alpha1.HoldAborted, workv1alpha1.HoldAborted}).Draw(t, "policy")
			m.w.HoldAborted(policy)
		},
		"history limit": func(t *rapid.T) {
			limit := rapid.Int32Range(0, 3).Draw(t, "limit")
			m.w.Edit(fmt.Sprintf("sets revisionHistoryLimit to %d", limit), func(spec *workv1alpha1.ManifestWorkReplicaSetSpec) { spec.RevisionHistoryLimit = ptr.To(limit) })
		},
		"delete a work": func(t *rapid.T) {
			if works := m.works(); len(works) > 0 {
				victim := rapid.SampledFrom(works).Draw(t, "work")
				_ = m.w.API.Delete(Works, victim.Namespace, victim.Name, nil)
				m.w.Tell("user: deletes the work of %s", victim.Namespace)
			}
		},
		"hand edit": func(t *rapid.T) { m.handEdit(t) },
		"delete revision": func(t *rapid.T) {
			if revisions := m.w.Revisions(); len(revisions) > 0 {
				victim := rapid.SampledFrom(revisions).Draw(t, "revision")
				m.w.DeleteRevision(victim.Name)
			}
		},
		"annotate": func(t *rapid.T) {
			m.w.Annotate(rapid.SampledFrom([]string{"", "a change", "another change"}).Draw(t, "cause"))
		},
		"wipe status": func(_ *rapid.T) {
			m.w.patch(ReplicaSets, Namespace, Name, map[string]any{"status": nil}, true)
			m.w.Tell("user: wipes the status")
		},
		"restart": func(_ *rapid.T) {
			m.w.Tell("the hub restarts")
			m.w.Restart()
		},
		"pause":      func(_ *rapid.T) { m.w.Pause(true) },
		"resume":     func(_ *rapid.T) { m.w.Pause(false) },
		"wait":       func(t *rapid.T) { m.settle(time.Duration(rapid.IntRange(0, 40).Draw(t, "seconds")) * time.Second) },
		"permission": func(_ *rapid.T) { m.permit(m.w.API.NoHistory) },
		"refusals": func(t *rapid.T) {
			cluster := rapid.SampledFrom(clusterNames).Draw(t, "cluster")
			m.w.Refuse(cluster, rapid.SampledFrom([]Fault{NoFault, Denied, Denied, Refused}).Draw(t, "answer"))
		},
		"adversary": func(t *rapid.T) { m.attack(t, rapid.IntRange(1, 4).Draw(t, "attacks")) },
		"quiet":     func(_ *rapid.T) { m.quiet() },
	}
	m.setBack(actions)
	m.approvals(actions)
	if m.w.managed(clusterNames[0]) {
		m.away(actions)
	}
	if m.w.Network != nil {
		m.overBroker(actions)
	}
	return actions
}
