// Package hub puts the work hub together: flags, clients, informers, drivers and controllers. It takes the flags of
// upstream's `work manager`, with the same meaning, and one more.
package hub
