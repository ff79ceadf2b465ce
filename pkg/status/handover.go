package status

import (
	"fmt"
	"strings"

	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// notKeptShown bounds how many objects a message names.
const notKeptShown = 3

// notKept says what is deleted at once although spec.pruneStrategy is WhenAvailable (R28).
func notKept(plan *rollout.Plan) string {
	if len(plan.NotKept) == 0 {
		return ""
	}
	shown, more := plan.NotKept, ""
	if n := len(shown) - notKeptShown; n > 0 {
		shown, more = shown[:notKeptShown], fmt.Sprintf("; and %d more", n)
	}
	return "pruneStrategy WhenAvailable does not keep what the new revision drops: " + strings.Join(shown, "; ") + more
}
