package queue

import "strings"

// Lane is a lane of the queue and of the write slots. Each lane has its own share of both, so neither waits for the other.
type Lane int

// The lanes.
const (
	// Rollouts is for all other passes.
	Rollouts Lane = iota
	// Aborts is for passes that restore works.
	Aborts

	lanes
)

// Turn identifies an object that requests a write. Within a lane, the tenants take turns; within a tenant, the objects
// take turns.
type Turn struct {
	Lane Lane
	// Key is the object's "namespace/name".
	Key string
}

// tenantOf returns the tenant of an object: its namespace.
func tenantOf(key string) string {
	namespace, _, _ := strings.Cut(key, "/")
	return namespace
}
