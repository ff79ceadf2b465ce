package status

import (
	"fmt"
	"strings"
	"time"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/ledger"
	"github.com/open-cluster-management-io/work-rollback/pkg/plain"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// groups describes what the listed decision groups wait for. It is empty if they wait for nothing.
func groups(in *Input) string { return strings.Join(Groups(in.Object, in.Plan), "; ") }

// Groups describes what each listed decision group waits for, until when, and what to do. It omits the groups that are done, the groups
// that only wait for other groups, and the groups of a placementRef that starts nothing for another reason.
func Groups(object *workv1alpha1.ManifestWorkReplicaSet, plan *rollout.Plan) (texts []string) {
	for i := range plan.Groups {
		if g := &plan.Groups[i]; !stopped(plan, g.Placement) {
			if text := Group(object, g); text != "" {
				texts = append(texts, text)
			}
		}
	}
	return texts
}

// stopped reports whether a placementRef starts nothing, regardless of its groups: it is halted, or its clusters are unknown.
func stopped(plan *rollout.Plan, placement string) bool {
	for i := range plan.Refs {
		if ref := &plan.Refs[i]; ref.Name == placement {
			return ref.Halted || ref.Unknown
		}
	}
	return false
}

// Group describes what a listed decision group waits for. It is empty if the group is done, or only waits for other groups.
func Group(object *workv1alpha1.ManifestWorkReplicaSet, g *rollout.GroupState) string {
	name := fmt.Sprintf("group %s of Placement %s", ledger.Quoted(g.Group), g.Placement)
	switch g.State {
	case rollout.GroupMissing:
		return name + " waits: no PlacementDecision has this group, or its clusters belong to another placementRef; no later cluster starts; " +
			"correct rolloutStrategy.groups, or make its clusters available"
	case rollout.GroupUnapproved:
		return name + " waits for its approval: " + approveCommand(object, g.Group)
	case rollout.GroupFailed:
		return name + " has failed on every cluster: no later cluster starts until one of its clusters succeeds"
	case rollout.GroupBaking:
		return name + " bakes until " + g.Until.UTC().Format(time.RFC3339)
	case rollout.GroupRunning:
		if len(g.Unfinished) > 0 {
			return name + " goes first: waiting for " + rollout.Names(g.Unfinished)
		}
	}
	return ""
}

func approveCommand(object *workv1alpha1.ManifestWorkReplicaSet, group string) string {
	return plain.Command("kubectl", "mwrs", "approve", object.Name, "--group", plain.Line(group), "-n", object.Namespace)
}
