package status

import "github.com/open-cluster-management-io/work-rollback/pkg/rollout"

// notKept names the objects that are deleted at once although spec.pruneStrategy is WhenAvailable, and the reason; empty for none.
func notKept(plan *rollout.Plan) string {
	if len(plan.NotKept) == 0 {
		return ""
	}
	return "dropped objects are deleted at once despite pruneStrategy WhenAvailable: " + FirstOf(plan.NotKept)
}
