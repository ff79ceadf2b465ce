package placement

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/validation"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
)

// FromDecisions groups the decisions of a Placement, and sorts them in place. The group of a decision comes from the status of the
// Placement, because OCM may update the labels of a decision seconds after its clusters. If the status does not list the decision, its
// labels apply. A cluster that is briefly in two PlacementDecisions belongs to the group of the first one. A name that no cluster can have
// is replaced by its quoted form, so later steps do not need to check cluster names.
func FromDecisions(placement *clusterv1beta1.Placement, decisions []*clusterv1beta1.PlacementDecision) *Placement {
	out := &Placement{
		Selected: int(placement.Status.NumberOfSelectedClusters), Decisions: len(decisions),
		Counted:    meta.FindStatusCondition(placement.Status.Conditions, clusterv1beta1.PlacementConditionSatisfied) != nil,
		Regrouping: regrouping(shownGroups(placement), decisions),
	}
	shown := map[string]Group{}
	for _, group := range shownGroups(placement) {
		for _, name := range group.Decisions {
			shown[name] = Group{Index: group.DecisionGroupIndex, Name: group.DecisionGroupName}
		}
	}
	shownOf := func(decision *clusterv1beta1.PlacementDecision) Group {
		if group, ok := shown[decision.Name]; ok {
			return group
		}
		return Group{Index: groupIndex(decision), Name: decision.Labels[clusterv1beta1.DecisionGroupNameLabel]}
	}
	slices.SortFunc(decisions, func(a, b *clusterv1beta1.PlacementDecision) int {
		return cmp.Or(cmp.Compare(shownOf(a).Index, shownOf(b).Index), cmp.Compare(a.Name, b.Name))
	})
	listed := 0 // The Placement's own count can't be trusted.
	for _, decision := range decisions {
		listed += len(decision.Status.Decisions)
	}
	seen, groups := make(map[string]bool, listed), map[string]int{}
	for _, decision := range decisions {
		group := groupOf(out, groups, shownOf(decision))
		for i := range decision.Status.Decisions {
			if cluster := clusterOf(decision.Status.Decisions[i].ClusterName); cluster != "" && !seen[cluster] {
				seen[cluster] = true
				group.Clusters = append(group.Clusters, cluster)
			}
		}
	}
	return out
}

// shownGroups returns the decision groups in the status of a Placement; none if OCM does not schedule the Placement.
func shownGroups(placement *clusterv1beta1.Placement) []clusterv1beta1.DecisionGroupStatus {
	if placement.Annotations[clusterv1beta1.PlacementDisableAnnotation] == "true" {
		return nil // Another controller writes the decisions.
	}
	return placement.Status.DecisionGroups
}

// regrouping reports whether the names or sizes of the decisions differ from the groups in the Placement's status. OCM writes that status
// after all decisions. If there are no groups, the result is false: OCM has not written them yet, or another controller manages the
// Placement.
func regrouping(shown []clusterv1beta1.DecisionGroupStatus, decisions []*clusterv1beta1.PlacementDecision) bool {
	if len(shown) == 0 {
		return false
	}
	sizes := make(map[string]int, len(decisions))
	for _, decision := range decisions {
		sizes[decision.Name] = len(decision.Status.Decisions)
	}
	for _, group := range shown {
		lacks := int(group.ClustersCount)
		for _, name := range group.Decisions {
			size, exists := sizes[name]
			if !exists {
				return true
			}
			lacks -= size
			delete(sizes, name)
		}
		if lacks != 0 {
			return true
		}
	}
	return len(sizes) > 0
}

// longestName is the maximum length in bytes of a name that the quoted form holds in full.
const longestName = 40

// clusterOf returns the name of a cluster. The OCM API accepts any text as a name in a decision, but a cluster is a DNS-1123 subdomain.
// Any other name is quoted: in this form, it is short and printable, and cannot be mistaken for a cluster.
func clusterOf(name string) string {
	if name == "" || IsClusterName(name) {
		return name
	}
	if len(name) <= longestName {
		return strconv.QuoteToASCII(name)
	}
	digest := sha256.Sum256([]byte(name))
	return fmt.Sprintf("%s... (%d bytes, SHA-256 %x)", strconv.QuoteToASCII(name[:longestName]), len(name), digest[:4])
}

// IsClusterName reports whether a cluster can have the given name. It checks the length first, so that an overlong name is not matched
// against the pattern.
func IsClusterName(name string) bool {
	return len(name) <= validation.DNS1123SubdomainMaxLength && len(validation.IsDNS1123Subdomain(name)) == 0
}

// IsInvalid reports whether a cluster of a Placement is the quoted form of a name that no cluster can have.
func IsInvalid(cluster string) bool { return strings.HasPrefix(cluster, `"`) }

// groupIndex returns the group index of a decision. It is 0 if the decision has no valid index, as older placement controllers write it.
func groupIndex(decision *clusterv1beta1.PlacementDecision) int32 {
	index, err := strconv.ParseInt(decision.Labels[clusterv1beta1.DecisionGroupIndexLabel], 10, 32)
	if err != nil || index < 0 {
		return 0
	}
	return int32(index)
}

// groupOf returns the wanted group, and adds it if necessary. known holds the indices of the existing groups, by key.
func groupOf(placement *Placement, known map[string]int, wanted Group) *Group {
	at, there := known[wanted.Key()]
	if !there {
		at = len(placement.Groups)
		known[wanted.Key()] = at
		placement.Groups = append(placement.Groups, wanted)
	}
	return &placement.Groups[at]
}
