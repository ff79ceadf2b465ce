package placement

import (
	"slices"
	"strconv"
	"strings"
	"sync"

	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// Ref is a placementRef with the decisions of its Placement.
type Ref struct {
	// Name is the name of the Placement.
	Name string
	// Field is the path of the ref in the spec, for messages.
	Field string
	// Strategy is the ref's rollout strategy, as the user wrote it.
	Strategy workv1alpha1.RolloutStrategy
	// Placement is nil if the Placement does not exist.
	Placement *Placement
}

// Settled reports whether the clusters that the ref selects are known: its Placement exists, and all of its decisions were seen.
func (r *Ref) Settled() bool { return r.Decided() && r.Placement.Matches() }

// Decided reports whether the decisions name at least as many clusters as the Placement counts. If the strategy depends on decision groups,
// the decisions must also match the groups in the Placement's status. OCM writes decisions before the count, and a Placement without a
// controller has no count. Only completion waits for the count.
func (r *Ref) Decided() bool {
	return r.Placement != nil && r.Placement.Decisions > 0 && r.Placement.Missing() == 0 && !r.Regrouping()
}

// Regrouping reports whether the strategy depends on decision groups, and the group of a cluster may be out of date.
func (r *Ref) Regrouping() bool {
	return r.Placement != nil && r.Placement.Regrouping && r.usesGroups()
}

// usesGroups reports whether the strategy depends on decision groups.
func (r *Ref) usesGroups() bool {
	s := StrategyOf(&r.Strategy)
	return s.Kind == clusterv1alpha1.ProgressivePerGroup || s.Mandatory.Any() || len(s.Rings) > 0 ||
		slices.ContainsFunc(s.Gates, func(gate workv1alpha1.SuccessGate) bool { return len(gate.Groups) > 0 })
}

// sliceSize is the number of clusters that OCM's placement controller puts into one PlacementDecision.
const sliceSize = 100

// MayBeWritten reports whether OCM may be writing the decisions of the ref's Placement although its count matches. OCM writes several
// slices one after the other, and may be about to begin a second slice when the first is full or the Placement has no status yet. Before it
// writes a single slice, it creates an empty decision.
func (r *Ref) MayBeWritten() bool {
	switch p := r.Placement; {
	case p == nil:
		return false
	case p.Empty():
		return !p.SelectsNothing()
	default:
		return p.Decisions > 1 || p.seen() >= sliceSize || !p.Counted && p.Selected == 0
	}
}

// Placement holds the content of a Placement's PlacementDecisions.
type Placement struct {
	// Selected is the Placement's own count of the clusters that it selected.
	Selected int
	// Counted is true if OCM has written that count. Until then, Selected is zero.
	Counted bool
	// Decisions is the number of PlacementDecision objects that were seen.
	Decisions int
	// Regrouping is true while the decisions differ from the groups in the Placement's status. The group of a cluster may then be out of date.
	Regrouping bool
	// Groups are the decision groups, by index. Each cluster is in exactly one group.
	Groups []Group
}

// seen counts the distinct clusters in the decisions.
func (p *Placement) seen() int {
	n := 0
	for i := range p.Groups {
		n += len(p.Groups[i].Clusters)
	}
	return n
}

// Matches reports whether all decisions of the Placement were seen: OCM writes them in slices, one after the other.
func (p *Placement) Matches() bool {
	return p.seen() == p.Selected
}

// Empty reports whether no decision names a cluster. OCM first creates a PlacementDecision, and then writes its clusters.
func (p *Placement) Empty() bool {
	return p.seen() == 0
}

// SelectsNothing reports whether the Placement's own status shows that it selects no cluster. OCM writes that status after the decisions.
func (p *Placement) SelectsNothing() bool {
	return p.Counted && p.Selected == 0
}

// Missing returns how many clusters the Placement counts in addition to those that its decisions name.
func (p *Placement) Missing() int {
	return max(0, p.Selected-p.seen())
}

// Group is a decision group.
type Group struct {
	Name  string
	Index int32
	// Clusters are the names of clusters, and the quoted forms of names that no cluster can have: see IsInvalid.
	Clusters []string
}

// Key returns the name of a group in AnnotationDecisionGroup: "<index>/<name>".
func (g *Group) Key() string {
	return strconv.Itoa(int(g.Index)) + "/" + g.Name
}

// GroupOf returns the group with a key; false if the text is not a key.
func GroupOf(key string) (group Group, ok bool) {
	number, name, found := strings.Cut(key, "/")
	index, err := strconv.ParseInt(number, 10, 32)
	return Group{Name: name, Index: int32(index)}, found && err == nil
}

// SelectionKnown reports whether no placementRef is ignored, and every Placement exists and has at least one PlacementDecision. Otherwise,
// a cluster that seems unselected may be selected.
func SelectionKnown(refs []Ref, ignored int) bool {
	if ignored > 0 {
		return false
	}
	for i := range refs {
		if refs[i].Placement == nil || refs[i].Placement.Decisions == 0 {
			return false
		}
	}
	return true
}

// Left returns a function that reports whether the named Placement no longer names a cluster while OCM may still be writing its decisions:
// they name no cluster, or there are several slices. owners has the index of the placementRef that owns each cluster.
func Left(refs []Ref, owners map[string]int) func(name, cluster string) bool {
	named := map[string]func() map[string]bool{}
	for i := range refs {
		if refs[i].Settled() && (refs[i].Placement.Empty() || refs[i].MayBeWritten()) {
			named[refs[i].Name] = sync.OnceValue(refs[i].Placement.Clusters) // Only works that change their placementRef need it.
		}
	}
	return func(name, cluster string) bool {
		clusters, unsure := named[name]
		if owner, selected := owners[cluster]; !unsure || selected && refs[owner].Name == name {
			return false
		}
		return !clusters()[cluster]
	}
}

// Clusters returns the clusters that the decisions of the Placement name.
func (p *Placement) Clusters() map[string]bool {
	clusters := make(map[string]bool, p.seen())
	for g := range p.Groups {
		for _, cluster := range p.Groups[g].Clusters {
			clusters[cluster] = true
		}
	}
	return clusters
}

// Largest returns how many clusters the largest Placement selects.
func Largest(refs []Ref) int {
	largest := 0
	for i := range refs {
		if refs[i].Placement != nil {
			largest = max(largest, refs[i].Placement.seen())
		}
	}
	return largest
}

// Owners returns, for each selected cluster, the index of the placementRef that it belongs to: the first in spec order.
func Owners(refs []Ref) map[string]int {
	owners := make(map[string]int, Largest(refs))
	for i := range refs {
		if refs[i].Placement == nil {
			continue
		}
		for g := range refs[i].Placement.Groups {
			for _, cluster := range refs[i].Placement.Groups[g].Clusters {
				if _, taken := owners[cluster]; !taken {
					owners[cluster] = i
				}
			}
		}
	}
	return owners
}

// Sliced returns, for each cluster, the Placements with several slices that select it. It is nil if no Placement has several slices.
// Clusters that the same Placements select share one list.
func Sliced(refs []Ref) map[string][]string {
	type list struct {
		last   *string
		length int
	}
	var sliced map[string][]string
	for i := range refs {
		if !refs[i].MayBeWritten() {
			continue
		}
		if sliced == nil {
			sliced = make(map[string][]string, refs[i].Placement.seen())
		}
		longer := map[list][]string{}
		for g := range refs[i].Placement.Groups {
			for _, cluster := range refs[i].Placement.Groups[g].Clusters {
				before := sliced[cluster]
				of := list{length: len(before)}
				if len(before) > 0 {
					of.last = &before[len(before)-1]
				}
				after, known := longer[of]
				if !known {
					after = append(slices.Clip(before), refs[i].Name)
					longer[of] = after
				}
				sliced[cluster] = after
			}
		}
	}
	return sliced
}
