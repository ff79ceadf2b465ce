package rollout

import (
	"slices"
	"strings"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// WorkLabels are the labels that a work has beside its hash: its owner's, and who and what it is for.
func WorkLabels(s *Snapshot, placement string) map[string]string {
	labels := make(map[string]string, len(s.Labels)+2)
	for key, value := range s.Labels {
		if !isToolLabel(key) {
			labels[key] = value
		}
	}
	delete(labels, workv1alpha1.LabelControllerHash)
	labels[workv1alpha1.LabelReplicaSet] = s.Owner
	labels[workv1alpha1.LabelPlacement] = placement
	return labels
}

// CopiedLabels is the value of AnnotationCopiedLabels: the keys of the owner's labels that are copied, sorted.
func CopiedLabels(s *Snapshot) string {
	keys := make([]string, 0, len(s.Labels))
	for key := range s.Labels {
		if !isToolLabel(key) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return strings.Join(keys, ",")
}

// DroppedLabels are the keys that a work has from labels which its owner has no longer, or which are not copied: those of GitOps tools, which
// OCM's hub copies and does not note.
func DroppedLabels(s *Snapshot, w *Work) []string {
	var dropped []string
	for key := range strings.SplitSeq(w.Object.Annotations[workv1alpha1.AnnotationCopiedLabels], ",") {
		if _, kept := s.Labels[key]; (kept && !isToolLabel(key)) || key == "" || strings.HasPrefix(key, workv1alpha1.GroupName+"/") {
			continue
		}
		if _, there := w.Object.Labels[key]; there {
			dropped = append(dropped, key)
		}
	}
	for key, value := range s.Labels {
		if found, there := w.Object.Labels[key]; there && found == value && isToolLabel(key) && !slices.Contains(dropped, key) {
			dropped = append(dropped, key)
		}
	}
	slices.Sort(dropped)
	return dropped
}

// relabel brings labels and annotations up to date where nothing else is written: a change of the owner's labels, a cluster that another
// ref took over, or a work of an older release without what keeps it from being pruned is a metadata write, whatever the strategies say (R8, R9).
func (p *Plan) relabel(s *Snapshot, states []*placementState) {
	written := p.writtenWorks(0)
	copied := CopiedLabels(s)
	for _, ps := range states {
		own := WorkLabels(s, ps.ref.Name)
		for i := range ps.members {
			m := &ps.members[i]
			wanted := own
			if m.blockedByEarlierRef {
				wanted = WorkLabels(s, m.placement(ps))
			}
			if !m.owned || m.work == nil || m.work.Deleting() || written[m.work] {
				continue
			}
			why := outdated(s, m.work, wanted, copied)
			if why == "" {
				continue
			}
			w := Write{Action: Relabel, Cluster: m.cluster, Placement: m.placement(ps), Work: m.work, Why: why}
			if m.work.PlacementName() != w.Placement {
				// From now on it counts here, and in this group (R8).
				w.Group, w.Why = ps.groups[m.group].Key(), "its cluster belongs to "+ps.ref.Name+" now"
			}
			p.Writes = append(p.Writes, w)
		}
	}
}

// placement is the Placement that a member's work is labelled with.
func (m *member) placement(ps *placementState) string {
	if m.blockedByEarlierRef {
		return m.work.PlacementName()
	}
	return ps.ref.Name
}

// outdated says what of a work's metadata is to be written; empty for nothing.
func outdated(s *Snapshot, w *Work, wanted map[string]string, copied string) string {
	if !labelled(w, wanted) || w.Object.Annotations[workv1alpha1.AnnotationCopiedLabels] != copied || len(DroppedLabels(s, w)) > 0 {
		return "its labels changed"
	}
	if accepted := w.Accepted(); accepted != "" && w.Object.Annotations[workv1alpha1.AnnotationAccepted] != accepted {
		return storedOtherwise
	}
	if !isKept(w.Object.Annotations) {
		return "nothing keeps GitOps tools from deleting it"
	}
	return ""
}

func labelled(w *Work, wanted map[string]string) bool {
	for key, value := range wanted {
		if found, ok := w.Object.Labels[key]; !ok || found != value {
			return false
		}
	}
	return true
}
