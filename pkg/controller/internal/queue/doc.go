// Package queue says which object gets the next pass, and whose writes come next. Aborts and rollouts have lanes of their own, and within a
// lane the tenants take turns: an abort never waits for rollouts, and nobody gets more by asking for more (P8).
//
// It imports client-go's workqueue and a clock. It must not import a client or a type of the API: it knows keys, and calls what makes a
// pass.
package queue
