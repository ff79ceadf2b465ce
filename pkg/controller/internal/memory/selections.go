package memory

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/lru"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// selectionsKept is the maximum number of Placements whose selections are held. Each takes a string header for each cluster.
const selectionsKept = 512

// Selections remembers the clusters that Placements select. The decisions of a large fleet rarely change, but every pass over every object
// reads them.
type Selections struct {
	// known holds a selectionOf for each Placement's "namespace/name".
	known *lru.Cache
}

// selectionOf is the selection of a Placement, with the cached objects that it was read from. The caches replace a changed object, and
// never edit it.
type selectionOf struct {
	placement *clusterv1beta1.Placement
	decisions []*clusterv1beta1.PlacementDecision
	selected  *rollout.Placement
}

// NewSelections returns empty Selections.
func NewSelections() *Selections { return &Selections{known: lru.New(selectionsKept)} }

// Of returns the selection of a Placement with these decisions. The result is shared between passes, and must not be changed.
func (s *Selections) Of(placement *clusterv1beta1.Placement, decisions []*clusterv1beta1.PlacementDecision) *rollout.Placement {
	slices.SortFunc(decisions, func(a, b *clusterv1beta1.PlacementDecision) int { return strings.Compare(a.Name, b.Name) })
	key := placement.Namespace + "/" + placement.Name
	if found, ok := s.known.Get(key); ok {
		if known := found.(selectionOf); known.placement == placement && slices.Equal(known.decisions, decisions) {
			return known.selected
		}
	}
	selected := placementOf(placement, slices.Clone(decisions))
	s.known.Add(key, selectionOf{placement: placement, decisions: decisions, selected: selected})
	return selected
}

// placementOf sorts decisions into groups. A cluster that is briefly in two slices belongs to the group of the first.
func placementOf(placement *clusterv1beta1.Placement, decisions []*clusterv1beta1.PlacementDecision) *rollout.Placement {
	out := &rollout.Placement{Selected: int(placement.Status.NumberOfSelectedClusters), Decisions: len(decisions)}
	slices.SortFunc(decisions, func(a, b *clusterv1beta1.PlacementDecision) int {
		return cmp.Or(cmp.Compare(groupIndex(a), groupIndex(b)), cmp.Compare(a.Name, b.Name))
	})
	listed := 0 // The Placement's own count can't be trusted.
	for _, decision := range decisions {
		listed += len(decision.Status.Decisions)
	}
	seen, groups := make(map[string]bool, listed), map[string]int{}
	for _, decision := range decisions {
		group := groupOf(out, groups, rollout.Group{Index: groupIndex(decision), Name: decision.Labels[clusterv1beta1.DecisionGroupNameLabel]})
		for i := range decision.Status.Decisions {
			if cluster := decision.Status.Decisions[i].ClusterName; cluster != "" && !seen[cluster] {
				seen[cluster] = true
				group.Clusters = append(group.Clusters, cluster)
			}
		}
	}
	return out
}

// groupIndex returns the group index of a decision. It is 0 if the decision names no group, as with older placement controllers.
func groupIndex(decision *clusterv1beta1.PlacementDecision) int32 {
	index, err := strconv.ParseInt(decision.Labels[clusterv1beta1.DecisionGroupIndexLabel], 10, 32)
	if err != nil || index < 0 {
		return 0
	}
	return int32(index)
}

// groupOf finds or adds a group. known holds the indices of the existing groups, by key.
func groupOf(placement *rollout.Placement, known map[string]int, wanted rollout.Group) *rollout.Group {
	at, there := known[wanted.Key()]
	if !there {
		at = len(placement.Groups)
		known[wanted.Key()] = at
		placement.Groups = append(placement.Groups, wanted)
	}
	return &placement.Groups[at]
}

// fingerprint distinguishes two reports of an agent, even if both report success: a condition that was lost and reached again has another
// transition time.
type fingerprint struct {
	generation                                int64
	revision                                  string
	applied, progressing, available, degraded conditionPrint
}

// conditionPrint is the relevant part of a condition. The API server keeps whole seconds.
type conditionPrint struct {
	status metav1.ConditionStatus
	since  int64
}

// sameWrite reports whether the hub wrote no revision between two reports.
func (f fingerprint) sameWrite(other fingerprint) bool {
	return f.generation == other.generation && f.revision == other.revision
}

func fingerprintOf(w *rollout.Work) fingerprint {
	work := w.Judged().Object
	f := fingerprint{generation: w.SpecGeneration(), revision: work.Annotations[workv1alpha1.AnnotationAppliedAt]}
	for i := range work.Status.Conditions {
		c := &work.Status.Conditions[i]
		print := conditionPrint{status: c.Status, since: c.LastTransitionTime.Unix()}
		switch c.Type {
		case workv1.WorkApplied:
			f.applied = print
		case workv1.WorkProgressing:
			f.progressing = print
		case workv1.WorkAvailable:
			f.available = print
		case workv1.WorkDegraded:
			f.degraded = print
		}
	}
	return f
}
