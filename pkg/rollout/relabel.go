package rollout

import (
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// Metadata returns the labels and annotations that the work of a write gets. AnnotationAppliedAt is not included: its value is the time of
// the request. Decide does not compute the metadata: a pass makes only some of the writes of a large plan, and deciding the abort of
// 10,000 clusters would take twice as long.
func (w *Write) Metadata() work.Metadata {
	existing := &workv1.ManifestWork{}
	if w.Work != nil {
		existing = w.Work.Object
	}
	m := w.Owner.Metadata(existing, w.Placement)
	if w.Group != "" {
		m.Annotations[workv1alpha1.AnnotationDecisionGroup] = w.Group
	}
	if w.Revision == nil {
		if accepted := w.Work.Accepted(); accepted != "" {
			m.Annotations[workv1alpha1.AnnotationAccepted] = accepted
		}
		return m
	}
	m.Labels[workv1alpha1.LabelControllerHash] = w.Revision.Hash
	m.SetOrDrop(workv1alpha1.AnnotationKeptRevision, w.KeptRevision)
	accepted := ""
	if !w.Owner.Brokered && (w.Work == nil || w.ChangesSpec()) {
		accepted = work.AskedFor(w.Revision.Digest, existing.Generation+1)
	}
	m.SetOrDrop(workv1alpha1.AnnotationAccepted, accepted)
	return m
}

// ChangesSpec reports whether a write changes the spec of an existing work.
func (w *Write) ChangesSpec() bool {
	return w.Work != nil && w.Revision != nil && w.Work.Digest != w.Revision.Digest
}

// relabel updates the labels and annotations of works that the plan does not otherwise write, or whose write the API server rejects.
// Labels and annotations are outdated if the owner's labels changed, another placementRef took over a cluster, or an older release wrote
// the work. The strategies do not apply.
func (p *Plan) relabel(owner *work.OwnerMetadata, states []*placementState) {
	for _, ps := range states {
		for _, m := range ps.members {
			if m.work == nil || !m.writable() || m.inPlan && m.rejection == nil {
				continue
			}
			w := Write{Action: Relabel, Cluster: m.cluster, Placement: m.placement(ps), Work: m.work}
			w.Why = owner.Outdated(m.work, w.Placement)
			if w.Why == "" && ps.failedInAnother(m) {
				w.Group, w.Why = ps.groups[m.group].Key(), "its cluster failed in a different decision group than the one at the last write"
			}
			if w.Why == "" {
				continue
			}
			if m.work.PlacementName() != w.Placement { // The work now counts for this placementRef and group.
				w.Group, w.Why = ps.groups[m.group].Key(), "its cluster belongs to "+ps.ref.Name+" now"
			}
			p.Writes = append(p.Writes, w)
		}
	}
}

// failedInAnother reports whether a member failed in a decision group other than the one that its work names. If the cluster is
// deselected, its failure counts in the group that the work names.
func (ps *placementState) failedInAnother(m *member) bool {
	of, known := m.work.DecisionGroup()
	return known && m.phase.fails && ps.ref.Settled() && m.work.PlacementName() == ps.ref.Name && of.Key() != ps.groups[m.group].Key()
}

// placement returns the Placement for the label of a member's work. While a selection is unknown, no work is handed over.
func (m *member) placement(ps *placementState) string {
	if ps.selection.anyUnknown && m.work != nil && m.work.PlacementName() != "" {
		return m.work.PlacementName()
	}
	return ps.ref.Name
}
