package status

import "github.com/open-cluster-management-io/work-rollback/pkg/rollout"

// notKept returns what is deleted at once although spec.pruneStrategy is WhenAvailable, and why; empty for nothing.
func notKept(plan *rollout.Plan) string {
	if len(plan.NotKept) == 0 {
		return ""
	}
	return "dropped objects are deleted at once despite pruneStrategy WhenAvailable: " + FirstOf(plan.NotKept)
}
