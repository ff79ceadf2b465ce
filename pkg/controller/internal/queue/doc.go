// Package queue decides which object gets the next pass, and which object's writes come next. Aborts and rollouts have
// their own lanes, and within a lane the tenants take turns. An abort never waits for rollouts, and a tenant with more
// requests gets no larger share (P8).
//
// It imports client-go's workqueue and a clock. It must not import a client or an API type, because it handles only
// keys, and calls the function that runs a pass.
package queue
