package lifecycle

import (
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// Begin obeys the commands, and starts the rollout of a revision.
func Begin(o *Observation, update *work.Revision) Decision {
	c := &chain{Observation: o, Decision: Obey(o)}
	c.Update = update
	c.begin()
	return c.Decision
}

// Enter enters the results of a plan in the ledger.
func Enter(o *Observation, begun Decision, plan *rollout.Plan) Decision {
	c := &chain{Observation: o, Decision: begun}
	c.Ledger, c.Plan = begun.Ledger.Clone(), plan
	c.enter()
	return c.Decision
}
