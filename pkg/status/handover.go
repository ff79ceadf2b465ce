package status

import "github.com/open-cluster-management-io/work-rollback/pkg/rollout"

// notKept says what is deleted at once although spec.pruneStrategy is WhenAvailable (R28).
func notKept(plan *rollout.Plan) string {
	if len(plan.NotKept) == 0 {
		return ""
	}
	return "pruneStrategy WhenAvailable does not keep what the new revision drops: " + firstOf(plan.NotKept)
}
