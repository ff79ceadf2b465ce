package queue

import "strings"

// Lane is a way through the queue and to the writers. Each has its own part of both: neither waits for the other one.
type Lane int

// The lanes.
const (
	// Rollouts is for all passes but those of the other lane.
	Rollouts Lane = iota
	// Aborts is for passes that write works back (R12).
	Aborts

	lanes
)

// Turn is who wants to write. Within a lane the tenants take turns, and within a tenant its objects.
type Turn struct {
	Lane Lane
	// Key is the object's "namespace/name".
	Key string
}

// tenantOf returns whose an object is: everything in one namespace is one tenant's.
func tenantOf(key string) string {
	namespace, _, _ := strings.Cut(key, "/")
	return namespace
}
